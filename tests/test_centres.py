"""The projected iteration for fewer centers than data, against exact least squares, and the rows that it reads."""

from dataclasses import replace

import numpy as np
import pytest

from engine_example import naive_kernel, preconditioning_matrix, sample
from shallows import arrays, gram, kernels, spectrum, training
from shallows.solvers.least_squares import projection
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.projected import (
    CentersProblem,
    ProjectedEigenProStepper,
    SpanCertificate,
    certificate,
    step_size,
)

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")
P, N, M, RANK = 40, 200, 25, 6


def problem(*, weights=False, p=P, n=N, rank=RANK, n_subsample=M, damping=1.0, xp=np, kernel="laplace"):
    """A problem in float64 whose centers are its first p points, with the dense matrices of the same."""
    x, y = sample(n), sample(n, 2, seed=1000)
    w = np.random.default_rng(0).uniform(0.2, 1.0, size=n) if weights else None
    made, points = kernels.make(kernel, 2.0), kernels.augmented(xp.asarray(x))
    centres = points[:p, :]
    preconditioner = spectrum.make_preconditioner(
        made,
        points,
        rank=rank,
        n_subsample=n_subsample,
        damping=damping,
        weights=None if w is None else xp.asarray(w),
    )
    held = CentersProblem(
        made,
        centres,
        lambda batch: points[batch, :],
        xp.asarray(y),
        preconditioner,
        None if w is None else xp.asarray(w[:, None]),
        projection=projection.make_projection(made, centres),
    )
    return held, naive_kernel(kernel, 2.0, x, x[:p]), y, np.ones(n) if w is None else w


def certified(held, rows, w=None):
    """The certificate of a problem from some rows."""
    return certificate(held.kernel, held.centers, held.projection, held.preconditioner, held.points(rows), w)


@pytest.mark.parametrize(("weights", "ridge"), [(False, 0.0), (True, 0.0), (True, 0.7)])
@pytest.mark.parametrize("damping", [1.0, 0.25])
@pytest.mark.parametrize("batch", [slice(0, 9), slice(100, 117)], ids=["centres", "others"])
def test_a_step_is_the_projection_of_the_preconditioned_gradient(batch, damping, weights, ridge):
    # By functions: P of the gradient, with the eigenfunctions as functions, then the nearest function of the span.
    held, K, y, w = problem(weights=weights, damping=damping)
    x, p = sample(N), held.preconditioner
    K_ZZ = naive_kernel("laplace", 2.0, x[:P], x[:P])
    solver = ProjectedEigenProStepper(0.3, average=False)
    state = solver.init(held)
    state.iterate[...] = before = sample(P, 2, seed=7)
    before = before.copy()
    after = solver.step(replace(held, regularization=ridge), state, batch).coefficients
    g = w[batch, None] * (K[batch] @ before - y[batch])
    D = preconditioning_matrix(p, P)
    # P of Σ gᵢ k(xᵢ, ·) is that sum less Σ (D K_ZS g)ⱼ k(zⱼ, ·), and ⟨k(zⱼ, ·), f⟩ = f(zⱼ).
    at_centres = K[batch].T @ g - K_ZZ @ (D @ (K[batch].T @ g))
    direction = np.linalg.solve(K_ZZ, at_centres)
    # The batch's share of λ f, which lies in the span.
    direction += ridge * (batch.stop - batch.start) / N * (before - D @ (K_ZZ @ before))
    # Where a point is a center, its distance is the root of what rounding leaves of zero, 1e-8.
    assert np.abs(after - (before - 0.3 * direction)).max() < 1e-6


def test_the_average_weighs_iterates_by_about_the_eighth_power_of_their_number():
    held, _, _, _ = problem()
    solver, average = ProjectedEigenProStepper(0.3), np.zeros((P, 2))
    state = solver.init(held)
    for t in range(1, 6):
        state = solver.step(held, state, slice(20 * t, 20 * t + 20))
        average += 9.0 / (t + 8.0) * (state.iterate - average)
        assert np.abs(state.coefficients - average).max() < 1e-13


@pytest.mark.parametrize("batches", [[slice(0, N)], [slice(30, 60), slice(0, 30), slice(150, 200)]])
def test_with_the_data_as_centres_it_is_eigenpro_iterate_by_iterate(batches):
    held, _, y, _ = problem(p=N)
    matrix = gram.Gram(held.kernel, held.centers, budget=2**30)
    plain = KernelProblem(matrix, y, None, held.preconditioner)
    ours, theirs = ProjectedEigenProStepper(0.2, average=False), EigenProStepper(0.2)
    a, b = ours.init(held), theirs.init(plain)
    for t in range(12):
        batch = batches[t % len(batches)]
        a, b = ours.step(held, a, batch), theirs.step(plain, b, batch)
        assert np.abs(a.coefficients - b.coefficients).max() < 1e-6
        assert a.loss == pytest.approx(b.loss, rel=1e-6)


@pytest.mark.parametrize("weights", [False, True])
def test_the_certificate_is_that_of_the_operator_in_the_span(weights):
    held, K, _, w = problem(n_subsample=P, rank=10, weights=weights)
    fresh = slice(P, N)
    found = certified(held, fresh, w[fresh] if weights else None)
    K_ZZ = kernels.matrix(held.kernel, held.centers)
    operator = np.linalg.inv(K_ZZ) - preconditioning_matrix(held.preconditioner, P)
    matrix = K[fresh] @ operator @ K[fresh].T * np.sqrt(np.outer(w[fresh], w[fresh]))
    assert found.largest_diagonal == pytest.approx(np.diagonal(matrix).max(), rel=1e-9)
    assert found.top == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=0.02)
    halves = [np.linalg.eigvalsh(matrix[:80, :80])[-1], np.linalg.eigvalsh(matrix[80:, 80:])[-1]]
    assert found.half == pytest.approx(np.mean(halves), rel=0.02)


def test_beyond_the_points_measured_the_eigenvalue_follows_the_line_through_both_measurements():
    found = SpanCertificate(largest_diagonal=0.5, n=100, top=3.0, half=2.0)
    assert found.eigenvalue(10) == found.eigenvalue(100) == 0.03
    assert found.eigenvalue(300) == pytest.approx((3.0 + 200 * 0.02) / 300)
    assert step_size(found, 1) == pytest.approx(2 / 0.5)
    assert step_size(found, 300) == pytest.approx(1 / 7.0)


def test_it_is_the_same_on_another_array_library():
    xp = pytest.importorskip("array_api_strict")
    results = []
    for library in (np, xp):
        held, _, _, _ = problem(xp=library, weights=True)
        found = certified(held, slice(P, N), held.weights[P:N, 0])
        batches, stopping = training.Batches(N, 16, seed=0), training.Stopping(max_epochs=2)
        run = training.train(ProjectedEigenProStepper(step_size(found, 16)), held, batches, stopping)
        results.append((arrays.to_numpy(run.state.coefficients), found.top, found.largest_diagonal))
    assert results[1][1:] == pytest.approx(results[0][1:], rel=1e-8)
    assert np.abs(results[0][0] - results[1][0]).max() < 1e-7 * np.abs(results[0][0]).max()


# --------------------------------------------------------------------------------- rows of the data
