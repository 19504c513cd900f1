"""First-order methods on features and on P^½ of them, against the preconditioned iteration and the exact solution."""

from types import SimpleNamespace

import numpy as np
import pytest

from shallows.kernel_approximation import PartialWhitening
from shallows.losses import Square
from shallows.solvers.regularized.risk import FeatureSpan, RiskProblem
from shallows.training.steps import Batches
from shallows_papers.papers.eigenpro.whitened_methods import _Held, _iterates, whitened_methods

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(200, 12)) * np.array([5.0, 3.0, 2.0, *(0.8,) * 9])
TARGETS = ROWS @ RNG.normal(size=(12, 2))


def problem(rows):
    return RiskProblem(FeatureSpan(_Held(rows)), TARGETS, Square(), 0.0)


def test_sgd_on_whitened_rows_is_eigenpro_on_the_rows():
    whitening = PartialWhitening(rank=3, n_subsample=200, random_state=0).fit(ROWS)
    whitened = whitening.transform(ROWS)
    found = [w.copy() for w in _iterates(problem(whitened), "sgd", 0.5, 20, 3, seed=1)][-1]
    values, E = whitening.eigenvalues_, whitening.components_
    P = np.eye(12) - E.T @ np.diag(1.0 - values[-1] / values[:-1]) @ E
    a = np.zeros((12, 2))
    for epoch in range(3):
        for batch in Batches(200, 20, 1).of_epoch(epoch):
            a -= 0.5 * P @ ROWS[batch].T @ (ROWS[batch] @ a - TARGETS[batch]) / 20
    np.testing.assert_allclose(whitened @ found, ROWS @ a, rtol=1e-9)


@pytest.mark.parametrize(("optimizer", "step"), [("sgd", 0.02), ("svrg", 0.0), ("saga", 0.0), ("adam", 0.01)])
def test_each_method_comes_to_the_exact_solution(optimizer, step):
    *_, w = _iterates(problem(ROWS), optimizer, step, 20, 400, seed=0)
    np.testing.assert_allclose(ROWS @ w, TARGETS, atol=2e-3 * np.abs(TARGETS).max())


def test_losses_are_of_the_whole_training_part_and_errors_of_the_test_part():
    x = RNG.normal(size=(300, 4)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64) + 2 * (x[:, 1] > 0)
    data = SimpleNamespace(x_train=x[:200], y_train=y[:200], x_test=x[200:], y_test=y[200:])
    sizes = {"n_features": 100, "rank": 10, "n_subsample": 200, "batch_size": 20}
    found = whitened_methods(data, 2.0, optimizer="svrg", epochs=(1, 30), **sizes, device="cpu")
    assert found.index == [1, 30] and found.numbers["whitened_smoothness"] < 0.5 * found.numbers["plain_smoothness"]
    assert found.curve["whitened_loss"][1] < found.curve["plain_loss"][1] < found.curve["plain_loss"][0] < 1.0
    assert found.curve["whitened_error"][1] < 25.0 < found.curve["plain_error"][0] + 25.0
