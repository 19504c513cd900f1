"""Download: files from mirrors and canonical addresses, verified before they get their names.

The module `fetching` brings the files of a dataset; `supplied_files` says which files its user has to
supply, because nobody may hand them on.
"""
