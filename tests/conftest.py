"""Hooks for all tests: their order, the fast choice, and the source files that a failing test is about."""

import gc
import importlib
import inspect
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

LEFT_OUT = ("slow", "workflow", "browser")
"""Marks of the tests that are no part of a fast answer."""

LONG = frozenset((Path(__file__).parent / "not_in_check.txt").read_text(encoding="utf-8").split())
"""Names of tests that are no part of a fast answer, because they take about a second or more."""


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
    """Put the files that run Snakemake first: they take minutes each; the short ones run at the same time."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)
    if not config.getoption("fast"):
        return
    first, others = {}, []
    for item in items:
        name = item.nodeid.partition("[")[0]
        if (
            name.rpartition(":")[2] in LONG
            or any(map(item.get_closest_marker, LEFT_OUT))
            or first.setdefault(name, item) is not item
        ):
            others.append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = first.values()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Name the source files that a failing test is about."""
    report = yield
    if report.failed and (files := sorted(set(sources(item)))):
        report.sections.append(("Source files to look at", "\n".join(files)))
    return report


def sources(item):
    """Source files of what a test takes as parameters or names in its function."""
    known, parameters = vars(item.module), getattr(item, "callspec", None)
    found = [known[name] for name in item.function.__code__.co_names if name in known]
    for value in [*found, *(parameters.params.values() if parameters else ())]:
        name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
        path = Path(getattr(sys.modules.get(str(name)), "__file__", None) or "")
        if SOURCE in path.parents:
            yield path.relative_to(SOURCE.parent).as_posix()


@pytest.fixture
def a_start_of_two_batches(monkeypatch):
    """Let a stream of doubly stochastic gradients continue by steps after two batches."""
    monkeypatch.setattr("shallows.estimators.doubly_stochastic.random_feature_expansion.FIRST_ROWS", 200)


@pytest.fixture(scope="session")
def plan():
    """The plan of the repository."""
    return importlib.import_module("own_plan").own_plan()


@pytest.fixture(scope="session")
def full_plan():
    """The plan of the repository with the runs of every extra: each job has an environment with what it needs."""
    return importlib.import_module("own_plan").own_plan(deployed=True)
