"""Download: files from mirrors and canonical addresses, verified before they get their names.

`shallows.datasets.download.fetching` brings the files of a dataset; `shallows.datasets.download.supplied_files` says
which files its user has to supply where nobody may hand them on.
"""
