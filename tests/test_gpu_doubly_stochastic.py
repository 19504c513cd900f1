"""Growing functions on a GPU: what the CPU gives, and models that move between the two."""

import numpy as np
import pytest

from engine_example import sample
from shallows import DoublyStochasticClassifier, DoublyStochasticRegressor, arrays
from shallows.svm import DoublyStochasticNoveltyDetector

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not arrays.gpu_is_available(), reason="there is no GPU that CuPy can use"),
]

ALL = [DoublyStochasticClassifier, DoublyStochasticRegressor, DoublyStochasticNoveltyDetector]
OPTIONS = {"random_state": 0, "options__dtype": "float64", "solver__block_size": 32, "solver__n_iter": 12}


def make_model(Estimator, device, **parameters):
    return Estimator().set_params(options__device=device, **OPTIONS, **parameters)


def table(Estimator, n=1500):
    x = sample(n, 4)
    signal = np.sin(2 * x[:, 0]) + x[:, 1]
    return x, np.digitize(signal, [-0.7, 0.7]) if Estimator is DoublyStochasticClassifier else signal


def scores(model, x):
    return getattr(model, "decision_function", model.predict)(x)


@pytest.mark.parametrize("reuse", ["fresh", "uniform_reuse", "checked_reuse"])
@pytest.mark.parametrize("Estimator", ALL)
def test_a_fit_on_the_gpu_is_that_on_the_cpu(Estimator, reuse):
    x, y = table(Estimator)
    cpu, gpu = (make_model(Estimator, device, solver__reuse=reuse).fit(x, y) for device in ("cpu", "gpu"))
    assert cpu.n_blocks_ == gpu.n_blocks_
    # Settled steps stop within a thousandth of the slope, so rounding may end them at other places.
    assert np.abs(scores(cpu, x) - scores(gpu, x)).max() < 1e-2 * np.abs(scores(cpu, x)).max()


@pytest.mark.parametrize("kernel", ["polynomial", "exponential", "arc_cosine"])
def test_a_fit_with_features_of_the_kernels_own_is_that_on_the_cpu(kernel):
    x, y = table(DoublyStochasticRegressor)
    models = [make_model(DoublyStochasticRegressor, device, kernel=kernel).fit(x, y) for device in ("cpu", "gpu")]
    cpu, gpu = (model.predict(x) for model in models)
    assert np.abs(gpu - cpu).max() < 1e-2 * np.abs(cpu).max()  # as above


def test_a_model_goes_on_on_another_device():
    x, y = table(DoublyStochasticRegressor)
    model = make_model(DoublyStochasticRegressor, "cpu").fit(x, y)
    before = model.predict(x)
    model.set_params(options__device="gpu")
    assert np.abs(model.predict(x) - before).max() < 1e-9
    model.partial_fit(x, y)
    assert model.n_iter_ > 12


def test_an_indefinite_system_gets_the_damping_that_it_gets_on_a_cpu():
    turn = np.linalg.qr(sample(30, 30))[0].astype(np.float32)
    matrix, b = (turn * np.repeat(np.float32([10.0, -0.1]), 15)) @ turn.T, turn[:, [0, -1]].copy()
    expected = arrays.solve_damped(matrix, b, 1e-3)
    there = [arrays.to_device(part, arrays.resolve_device("gpu")) for part in (matrix, b)]
    assert arrays.to_numpy(arrays.solve_damped(*there, 1e-3)) == pytest.approx(expected, rel=1e-4, abs=1e-4)
