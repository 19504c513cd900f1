"""What holds for all tests: their order in the processes that share them, and which make up a fast answer."""

import gc

import pytest

LEFT_OUT = ("slow", "workflow", "browser")
"""Marks of the tests that are no part of a fast answer."""


def pytest_addoption(parser):
    parser.addoption(
        "--fast",
        action="store_true",
        help=f"the first case of each test, and none that is marked {', '.join(LEFT_OUT)}",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while the tests are collected, nor among them afterwards, since they stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Put the files that run Snakemake first: they take minutes each; the short ones fill the time beside them."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)
    if not config.getoption("fast"):
        return
    first, others = {}, []
    for item in items:
        name = item.nodeid.partition("[")[0]
        if any(map(item.get_closest_marker, LEFT_OUT)) or first.setdefault(name, item) is not item:
            others.append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = first.values()
