"""Download of files from mirrors and canonical addresses. A file gets its name only after it was verified.

The module `fetching` downloads the files of a dataset. `supplied_files` lists files that the user has to supply because
their license forbids redistribution.
"""
