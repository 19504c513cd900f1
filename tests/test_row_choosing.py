"""A solver that chooses rows of a kernel matrix."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from engine_example import sample
from resumed_example import stopped_at_every_batch
from row_choosing_example import SMO, DualProblem
from shallows import kernels
from shallows.gram.row_slab import KernelRowSlab
from shallows.training import Curve, OwnRows, Stopping, train


def problem(capacity: int, n: int = 120, C: float = 2.0) -> tuple[DualProblem, np.ndarray]:
    x = sample(n)
    y = np.where(x[:, 0] ** 2 + x[:, 1] + 0.3 * sample(n, 1, seed=1)[:, 0] > 0.5, 1.0, -1.0)
    rows = KernelRowSlab(kernels.make("gaussian", 1.0), kernels.augmented(x), budget=capacity * n * 8)
    return DualProblem(rows, y, C), x


@pytest.mark.parametrize("capacity", [0, 30, 120])
def test_smo_on_the_loop_finds_the_support_vectors_that_scikit_learn_finds(capacity):
    task, x = problem(capacity)
    curve = Curve([1, 2], lambda state: {"gap": state.gap}, unit="iteration")
    run = train(SMO(), task, OwnRows(50, n_batches=10), Stopping(max_epochs=100), observers=[curve])
    exact = SVC(C=2.0, gamma=0.5, tol=1e-7).fit(x, task.labels)
    expected = np.zeros(len(x))
    expected[exact.support_] = exact.dual_coef_[0]
    assert np.abs(run.state.coefficients[:, 0] - expected).max() < 1e-4
    assert run.state.intercept == pytest.approx(exact.intercept_[0], abs=1e-5)
    # It ended within an epoch, when there was nothing left to do.
    assert run.stopped_by == "exhausted"
    assert run.position > 0
    assert run.state.n_steps > 50 * (run.iteration - 1)
    assert curve.rows[0]["gap"] > curve.rows[1]["gap"] > run.state.gap
    # If the rows of all points fit, each is computed once; if few fit, the rows of support vectors are found again.
    if capacity == 120:
        assert task.rows.n_made <= 120
    elif capacity:
        assert task.rows.n_made < 0.75 * 2 * run.state.n_steps


def test_smo_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path):
    def once(**options):
        return train(SMO(1e-2), problem(30)[0], OwnRows(40, n_batches=3), Stopping(max_epochs=100), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)
    assert (whole.iteration, whole.losses, whole.stopped_by) == (resumed.iteration, resumed.losses, "exhausted")
    assert resumed.n_resumes > 2
