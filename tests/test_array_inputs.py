"""Arrays of other libraries as input, predictions in the library of X where scikit-learn dispatches, and threads."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl
from sklearn.model_selection import GridSearchCV

import promises_example
import shallows
from engine_example import sample
from promises_example import outputs, targets, unfitted
from shallows import KernelRidgeClassifier, KernelRidgeRegressor
from shallows.solvers import EigenPro
from workflow_runs import PROJECT

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

EVERY = sorted(set(promises_example.EVERY) - {"RandomBinning"})  # whose rows are sparse
X, NEW = sample(60, 3), sample(20, 3, seed=1)


@pytest.mark.parametrize("name", EVERY)
def test_arrays_of_another_library_are_those_of_numpy(name):
    xp = pytest.importorskip("array_api_strict")
    y, weights = targets(name, X), np.linspace(1.0, 2.0, 60)
    takes_weights = "sample_weight" in inspect.signature(getattr(shallows.estimators, name).fit).parameters
    weighted = {"sample_weight": weights} if takes_weights else {}
    of_numpy = unfitted(name).fit(X, y, **weighted)
    other = unfitted(name).fit(xp.asarray(X), xp.asarray(y), **{key: xp.asarray(one) for key, one in weighted.items()})
    for expected, made in zip(outputs(of_numpy, NEW), outputs(other, xp.asarray(NEW)), strict=True):
        assert isinstance(made, np.ndarray)  # without dispatch
        assert np.array_equal(made, expected)


DISPATCHED = """
import warnings
import array_api_strict as xp
import numpy as np
import sklearn
from sklearn.utils.estimator_checks import check_array_api_input
from promises_example import METHODS, outputs, targets, unfitted
from test_array_inputs import EVERY, NEW, X
warnings.simplefilter("ignore")
elsewhere = xp.Device("device1")
for name in EVERY[::2]:  # Each family has one of them.
    y = targets(name, X)
    expected = outputs(unfitted(name).fit(X, y), NEW)
    check_array_api_input(name, unfitted(name), "numpy")
    with sklearn.config_context(array_api_dispatch=True):
        model = unfitted(name).fit(xp.asarray(X, device=elsewhere), xp.asarray(y, device=elsewhere))
        new = xp.asarray(NEW, device=elsewhere)
        for one, made in zip(expected, outputs(model, new), strict=True):
            assert made.__array_namespace__() is xp and made.device == elsewhere, name
            assert np.array_equal(np.asarray(xp.asarray(made, device=xp.Device("CPU_DEVICE"))), one), name
        # A model takes the arrays of any library.
        for one, made in zip(expected, outputs(model, NEW), strict=True):
            assert isinstance(made, np.ndarray) and np.array_equal(made, one), name
        if name.endswith("Classifier"):
            words = unfitted(name).fit(X, np.array(["a", "b"])[y]).predict(new)
            assert isinstance(words, np.ndarray) and set(words) <= {"a", "b"}, name
            assert model.score(xp.asarray(X), xp.asarray(y)) == model.score(X, y), name
    kept = [one for one in vars(model).values() if hasattr(one, "__array__") or hasattr(one, "__array_namespace__")]
    assert all(isinstance(one, (np.ndarray, np.generic)) for one in kept), name
print("done")
"""


@pytest.mark.slow
def test_where_scikit_learn_dispatches_predictions_are_in_the_library_and_on_the_device_of_the_points():
    pytest.importorskip("array_api_strict")
    # The switch is read when SciPy is imported, so it needs its own process.
    environment = os.environ | {
        "SCIPY_ARRAY_API": "1",
        "PYTHONPATH": os.pathsep.join([*sys.path, str(PROJECT / "tests")]),
    }
    done = subprocess.run([sys.executable, "-c", DISPATCHED], capture_output=True, text=True, env=environment)
    assert done.stdout.endswith("done\n"), done.stderr


# -------------------------------------------------------------------------------------------- threads


def test_the_threads_are_those_of_the_blas():
    with threadpoolctl.threadpool_limits(1, "blas"):
        assert shallows.arrays.n_threads() == 1
    before = [one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    KernelRidgeRegressor(solver=EigenPro(max_epochs=2), random_state=0).fit(sample(1100, 3), sample(1100, 1)[:, 0])
    assert [one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"] == before


@pytest.mark.slow
def test_a_search_in_processes_finds_what_it_finds_in_one():
    model, grid, y = KernelRidgeClassifier(solver="eigenpro", random_state=0), [0.1, 10.0], targets("Classifier", X)
    with threadpoolctl.threadpool_limits(1, "blas"):
        scores = [
            GridSearchCV(model, {"bandwidth": grid}, cv=3, n_jobs=n_jobs).fit(X, y).cv_results_["mean_test_score"]
            for n_jobs in (1, 2)
        ]
    assert np.allclose(*scores, atol=1e-12)
