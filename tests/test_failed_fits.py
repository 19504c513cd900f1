"""What a fit that fails leaves: the model that was there before, or none."""

import inspect
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import promises_example
import shallows
from doubly_stochastic_example import WORDS, endless, moons, small
from estimators_example import outputs
from flat import flat_if_known
from shallows import KernelRidgeRegressor, training
from shallows.errors import ShallowsError
from shallows.solvers import ConjugateGradients, EigenPro, FeatureBlockDescent

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

EVERY = sorted(name for name in shallows.estimators.__all__ if name.endswith(("Classifier", "Regressor", "Detector")))
IN_BLOCKS = [f"FeatureRidge{kind} in blocks" for kind in ("Classifier", "Regressor")]
every = pytest.mark.parametrize("name", [*EVERY, *IN_BLOCKS])


class Interrupt(training.Observer):
    """Ctrl-C after some batches."""

    def __init__(self, after=1):
        self.left = after

    def on_batch(self, run):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def unfitted(name):
    in_blocks = {"solver": FeatureBlockDescent(block_size=8)} if name in IN_BLOCKS else {}
    return promises_example.unfitted(name.split()[0], **in_blocks)


def problem(name, seed=0):
    X, words = moons(60, seed=seed)
    return X, words if "Classifier" in name else X[:, 0] + X[:, 1] ** 2


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else outputs(model, X)


def is_solved_at_once(model):
    return type(model).__name__.startswith("FeatureRidge") and model.solver == "auto"


def fail(model, how, X, y):
    """A second fit, on other data with another number of features, that fails."""
    X = np.hstack([2.0 * X, X + 1.0])
    if how == "NaN":
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, y)
    elif how == "parameter":
        bandwidth = model.bandwidth
        with pytest.raises(ShallowsError, match="bandwidth must be"):
            model.set_params(bandwidth=-1.0).fit(X, y)
        model.set_params(bandwidth=bandwidth)
    elif "observers" in inspect.signature(model.fit).parameters and not is_solved_at_once(model):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, observers=[Interrupt()])
    else:
        # Without observers, Ctrl-C comes after a closed form's features were made, or when a training starts.
        module = sys.modules[type(model).__module__]
        places = [
            (module, "LinearSVC"),
            (sys.modules.get(f"shallows.fitting.{module.__name__.rpartition('.')[2]}"), "blocks_of_rows"),
            (type(model), "_keep"),
            (training, "train"),
        ]
        interrupted = mock.patch.object(*next(one for one in places if hasattr(*one)), side_effect=KeyboardInterrupt)
        with interrupted, pytest.raises(KeyboardInterrupt):
            model.fit(X, y)


@every
@pytest.mark.parametrize("how", ["NaN", "parameter", "Ctrl-C"])
def test_a_refit_that_fails_leaves_the_model_as_it_was(name, how):
    if how == "parameter" and "bandwidth" not in unfitted(name).get_params():
        pytest.skip("it has no bandwidth")
    X, y = problem(name)
    model = unfitted(name).fit(X, y)
    before, names = scores(model, X), set(vars(model))
    fail(model, how, *problem(name, seed=1))
    assert np.array_equal(scores(model, X), before)
    assert set(vars(model)) == names
    assert model.n_features_in_ == 2


IN_LITTLE_MEMORY = """
import resource
import numpy as np
from shallows import KernelRidgeRegressor, Options
X = np.random.default_rng(0).normal(size=(6000, 3))
model = KernelRidgeRegressor(bandwidth=1.0, solver="eigenpro", options=Options(memory="1GB"), random_state=0)
before = model.fit(X[:200], X[:200, 0]).predict(X[:9])
pages = int(open("/proc/self/statm").read().split()[0])
limit = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 50 * 2**20, limit[1]))
try:
    model.fit(X, X[:, 0])
except MemoryError as error:
    resource.setrlimit(resource.RLIMIT_AS, limit)
    print("Unable to allocate" in str(error), np.array_equal(model.predict(X[:9]), before))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit of memory is one of Linux")
def test_memory_that_was_free_when_a_fit_began_and_is_taken_later_is_an_error_that_keeps_the_model():
    done = subprocess.run([sys.executable, "-c", IN_LITTLE_MEMORY], capture_output=True, text=True)
    assert done.stdout == "True True\n", done.stderr


def test_free_memory_that_falls_during_a_fit_does_not_change_the_model(monkeypatch):
    X, y = problem("KernelRidgeRegressor")
    expected = unfitted("KernelRidgeRegressor").fit(X, y).predict(X)
    others_take = iter(range(2**31, 0, -(2**29)))
    monkeypatch.setattr("shallows.arrays.memory.available_memory", lambda device=None: max(next(others_take), 2**26))
    assert np.array_equal(unfitted("KernelRidgeRegressor").fit(X, y).predict(X), expected)


# Streams


def stream_of(n_batches, last):
    yield from endless(n_batches)
    last()


def interrupt():
    raise KeyboardInterrupt


begins_shortly = pytest.mark.usefixtures("a_start_of_two_batches")


@begins_shortly
def test_ctrl_c_in_a_stream_leaves_the_model_of_the_batches_before():
    model = small()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(stream_of(7, interrupt), classes=WORDS)
    whole = small().partial_fit(endless(7), classes=WORDS)
    assert model.n_iter_ == whole.n_iter_ and model.report_["n_blocks"] == whole.report_["n_blocks"]
    assert np.array_equal(model.dual_coef_, whole.dual_coef_)


@begins_shortly
def test_ctrl_c_in_the_middle_of_a_step_leaves_the_model_of_the_steps_before(monkeypatch):
    model = small().partial_fit(endless(5), classes=WORDS)
    whole = small().partial_fit(endless(7), classes=WORDS)
    State = type(model._state)
    monkeypatch.setattr(State, "grow", interrupted_at(3, State.grow))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(endless(20, seed=5))
    assert model.n_iter_ == 20 + 5
    assert np.array_equal(model.dual_coef_, whole.dual_coef_)


STREAMS = sorted(
    name
    for name in shallows.estimators.__all__
    if hasattr(getattr(shallows.estimators, name), "partial_fit") or name == "LinearSVMClassifier"
)


def interrupted_after(n_calls, call):
    """Ctrl-C after a number of calls of the package's functions, or at the last; returns their number."""
    seen = 0

    def watch(frame, event, _):
        nonlocal seen
        if event == "call" and "/shallows/" in frame.f_code.co_filename:
            seen += 1
            if seen == n_calls:
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


@begins_shortly
@pytest.mark.parametrize("name", STREAMS)
def test_an_interrupted_partial_fit_of_an_array_keeps_nothing_of_it(name):
    Estimator = getattr(shallows.estimators, name)
    small = {"block_size": 16, "n_units": 20, "n_features": 20, "n_components": 2, "bandwidth": 1.0, "budget": 10}
    small |= {"batch_size": 50, "n_iter": 10, "max_features": 64, "random_state": 0}
    small |= {"solver": "linear_pegasos"} if name == "LinearSVMClassifier" else {}
    small |= {"solver": "lasvm"} if name == "KernelSVMClassifier" else {}
    X, words = moons(450)
    X = np.hstack([X, X**2, np.sin(X)])
    second = name in ("DoublyStochasticKernelCCA", "DoublyStochasticKernelSVD")
    y = words if "Classifier" in name else X[:, :2] ** 3 if second else X[:, 0] + X[:, 1] ** 2
    first = {"classes": WORDS} if "Classifier" in name else {}

    def begun():
        return flat_if_known(Estimator, **small).partial_fit(X[:250], y[:250], **first)

    model, whole = begun(), begun()
    shows = next(one for one in ("transform", "decision_function", "predict") if hasattr(model, one))
    before, names = getattr(model, shows)(X), set(vars(model))
    n_calls = interrupted_after(0, lambda: whole.partial_fit(X[250:], y[250:]))
    for part in (1, 4, 5, 6, 7):
        try:
            interrupted_after(n_calls * part // 8, lambda: model.partial_fit(X[250:], y[250:]))
        except KeyboardInterrupt:
            assert np.array_equal(getattr(model, shows)(X), before) and set(vars(model)) == names, part
        else:
            break  # fewer calls were needed, since draws of the interrupted ones are in a cache
    else:
        model.partial_fit(X[250:], y[250:])
    assert part >= 6, "it was hardly interrupted"
    after = getattr(model, shows)(X)
    assert np.array_equal(after, getattr(whole, shows)(X))
    assert not np.array_equal(after, before)


def interrupted_at(number, method):
    calls = []

    def call(*args):
        calls.append(args)
        if len(calls) == number:
            raise KeyboardInterrupt
        return method(*args)

    return call


# The line that a warning names


@pytest.mark.parametrize(
    "model",
    [
        KernelRidgeRegressor(solver=EigenPro(step=1e-6, max_epochs=1), bandwidth=1e-3, alpha=0.0),
        KernelRidgeRegressor(solver=ConjugateGradients(tol=0.0, max_iterations=1)),
    ],
)
def test_a_warning_of_a_fit_names_the_line_that_called_it(model):
    X, y = np.random.default_rng(0).normal(size=(2, 200, 1))
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y[:, 0])
    assert caught[0].filename == __file__
