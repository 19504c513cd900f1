"""Tables from names to kernels, losses and feature maps, which a reader of the source can follow."""

import functools
import importlib
import pkgutil
import re
import subprocess
import sys

import pytest

import shallows
from shallows import estimators, features, kernels, losses, solvers
from shallows.utils.lazy_tables import LazyTable
from shallows_papers import datasets, nets
from shallows_papers.datasets import formats, synthetic
from shallows_papers.datasets.preparation import steps
from shallows_papers.experiments.running import measures
from workflow_runs import PROJECT


def subclasses(base):
    for made in base.__subclasses__():
        yield made
        yield from subclasses(made)


def test_every_kernel_and_loss_with_a_name_is_listed():
    for base, table, room in ((kernels.Kernel, kernels.KERNELS, kernels), (losses.Loss, losses.LOSSES, losses)):
        listed = set(table.values())  # which imports them
        ours = [made for made in subclasses(base) if made.__module__.startswith(room.__name__)]
        assert {made for made in ours if isinstance(vars(made).get("name"), str)} == listed


ROOMS = [datasets, estimators, features, formats, kernels, losses, measures, nets, shallows, solvers, steps, synthetic]
TABLES = [table for room in ROOMS for table in vars(room).values() if isinstance(table, LazyTable)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.kind)
def test_every_entry_of_a_table_is_where_it_says(table):
    for name in table:
        made = table[name]
        if isinstance(made, functools.partial):  # It has no name, and its function may be elsewhere.
            assert made in vars(importlib.import_module(table.module_of(name))).values()
            continue
        assert getattr(importlib.import_module(table.module_of(name)), made.__name__) is made
        assert made.__module__ == table.module_of(name) or made.__module__.startswith(table.module_of(name) + ".")


FAMILIES = [importlib.import_module(f"{solvers.__name__}.{one.name}") for one in pkgutil.iter_modules(solvers.__path__)]


def test_every_solver_of_a_family_is_public():
    tables = [table for family in FAMILIES for table in vars(family).values() if isinstance(table, LazyTable)]
    named = {made.__name__ for table in tables for made in table.values()}
    assert not (missing := named - {*solvers.SOLVERS}), f"Add {missing} to SOLVERS in shallows/solvers/__init__.py."


@pytest.mark.parametrize("page", ["src/shallows/kernels/__init__.py", "docs/methods/kernels.md"])
def test_the_tables_of_kernels_for_readers_have_every_kernel(page):
    listed = set(re.findall(r"^(?:\| `)?(\w+)[`\s]", (PROJECT / page).read_text(encoding="utf-8"), re.MULTILINE))
    missing = {*kernels.KERNELS} - listed - {"precomputed"}
    assert not missing, f"Add {missing} to the table in {page}."


@pytest.mark.parametrize(
    ("asked", "suggested"),
    [
        ("shallows.KernelRidge", "'KernelRidgeClassifier'"),
        ("shallows.KernelPCA", "'FeatureKernelPCA' or 'DoublyStochasticKernelPCA'"),
        ("shallows.TwoSampleTest", "'two_sample_test'"),
        ("shallows.estimators.KernelRidgeClasifier", "'KernelRidgeClassifier'"),
        ("shallows.kernels.Gausian", "'Gaussian'"),
    ],
)
def test_an_attribute_that_does_not_exist_is_answered_with_the_nearest(asked, suggested):
    module, _, name = asked.rpartition(".")
    with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{re.escape(suggested)}"):
        getattr(importlib.import_module(module), name)
    assert not hasattr(importlib.import_module(module), name)
    with pytest.raises(ImportError, match=re.escape(suggested)):
        exec(f"from {module} import {name}")


def test_to_import_one_estimator_imports_no_other_method():
    program = (
        "import sys; from shallows import RegularizedRiskClassifier as R; from shallows.solvers import SAG; "
        "R(solver=SAG(max_epochs=1), features='fourier').fit([[0.0], [1.0], [2.0]], [0, 1, 1]); "
        "print(sorted(m for m in sys.modules if m.startswith(('shallows.solvers.', 'shallows.features.'))))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    assert "regularized.variance_reduced" in told.stdout
    assert not re.search(r"least_squares\.|expansions\.|support_vectors\.|quasi_monte_carlo|landmarks", told.stdout)
