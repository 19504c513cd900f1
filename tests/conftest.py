"""What holds for all tests: the order in which files are handed to the processes that share them."""


def pytest_collection_modifyitems(items):
    """Put the files that run Snakemake first: they take minutes each; the short ones fill the time beside them."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)
