"""A budget of memory that cannot be kept is refused, or warned of, with the least that can be, and that one is kept."""

import re
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from shallows import KernelRidgeClassifier, KernelRidgeRegressor, Options, arrays
from shallows.errors import ShallowsError
from shallows.solvers import EigenPro, NystromConjugateGradients

PROGRAM = """
import sys, warnings, numpy as np, shallows, shallows.errors
from shallows import arrays
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(8000, 500))
y = (X[:, 0] > 0).astype(int)
import flat
from solved_by import constructor
Estimator = constructor(sys.argv[1])
model = flat.flat(Estimator, max_epochs=1, random_state=0)
try:
    model.set_params(**flat.paths(type(model), {"memory": "1MB"})).fit(X, y)
except shallows.errors.ShallowsError as error:
    print(error)
    words = str(error)
    least = words[words.index('memory="') + 8:].split('"')[0]
    model.set_params(**flat.paths(type(model), {"memory": least})).fit(X, y)
    files = [line.split() for line in open("/proc/self/status") if line.startswith("RssFile")]
    print("peak", arrays.peak_memory() - int(files[0][1]) * 1024)  # pages of libraries and other files are not counted
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["EigenProClassifier", "feature_eigenpro: FeatureRidgeClassifier"])
def test_a_budget_below_what_the_process_holds_is_refused_and_the_least_that_is_named_is_kept(name):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    assert "memory='1MB' is too little" in done.stdout and "nystrom_conjugate_gradients" in done.stdout
    least = int(re.search(r'memory="(\d+)MB"', done.stdout)[1])
    assert int(re.search(r"peak (\d+)", done.stdout)[1]) <= 1e6 * least


@pytest.mark.parametrize("refused", [True, False])
def test_the_least_that_is_named_is_kept_when_the_process_has_grown_a_little_since(refused, monkeypatch):
    # EigenPro is refused. What fits into any budget warns of one that the process exceeds already.
    solver = EigenPro(max_epochs=1) if refused else NystromConjugateGradients(max_iterations=30)
    model = KernelRidgeClassifier(solver=solver, random_state=0, options=Options(memory="1MB"))
    X = np.random.default_rng(0).normal(size=(100, 5))
    y = (X[:, 0] > 0).astype(int)
    held = arrays.resident_memory()
    monkeypatch.setattr(arrays, "resident_memory", lambda: held)
    told = pytest.raises(ShallowsError) if refused else pytest.warns(UserWarning, match="memory='1MB' is too little")
    with told as words:
        model.fit(X, y)
    least = re.search(r'memory="(\d+MB)"', str(words.value if refused else words[0].message))[1]
    monkeypatch.setattr(arrays, "resident_memory", lambda: held + 2**21)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "memory=")
        model.set_params(options=Options(memory=least)).fit(X, y)


@pytest.mark.parametrize(
    "given",
    [{"solver": EigenPro(max_epochs=1)}, {"solver": "cholesky", "kernel": "laplace"}, {"centers": 1500}],
    ids=["eigenpro", "cholesky", "centers"],
)
def test_a_prediction_makes_no_second_copy_of_the_training_rows(given):
    X = np.random.default_rng(0).normal(size=(3000, 500))
    model = KernelRidgeRegressor(n_components=None, bandwidth=20.0, alpha=1.0, random_state=0, **given)
    model.fit(X, X[:, 0]).predict(X[:50])
    tracemalloc.start()
    try:
        model.predict(X[:50])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * model._model.points.nbytes
