"""Pegasos, FOLOS and Bottou's SVM-SGD in their linear form: steps against plain loops, and where they end."""

import numpy as np
import pytest
import scipy.sparse

from linear_svm_example import optimum, points, problem_of, run
from shallows.solvers.linear_svm.problem import HINGE, SQUARED_HINGE
from shallows.solvers.linear_svm.rows import (
    SAMPLINGS,
    as_rows,
    combination,
    dot,
    permutation,
    products,
    squared_norms,
    visits,
)
from shallows.solvers.linear_svm.subgradients import (
    FOLOSStepper,
    LinearPegasosStepper,
    SVMSGDStepper,
    best_first_step,
    take_steps,
    zero_state,
)

LAM = 1e-2


def plain_iterates(X, y, order, k, weights, projection=False, forward=False, offset=0.0):
    """Iterates by the formula, one dense vector after the other."""
    w, out = np.zeros(X.shape[1]), []
    for t, first in enumerate(range(0, len(order), k), start=1):
        rows = order[first : first + k]
        step = 1.0 / (LAM * (t + offset))
        missed = y[rows] * (X[rows] @ w) < 1.0
        gradient = (weights[rows] * y[rows] * missed) @ X[rows] / len(rows)
        w = (w + step * gradient) / (1 + step * LAM) if forward else (1 - step * LAM) * w + step * gradient
        if projection and np.linalg.norm(w) > 1 / np.sqrt(LAM):
            w = w / (np.sqrt(LAM) * np.linalg.norm(w))
        out.append(w)
    return np.array(out)


@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_rows_are_those_of_the_matrix(sparse):
    X, _ = points(sparse=sparse)
    rows, w, factors = as_rows(X), np.arange(12.0), np.linspace(-1, 1, 600)
    assert (rows.columns.size > 0) == sparse
    np.testing.assert_allclose(products(rows, w), X @ w, atol=1e-13)
    np.testing.assert_allclose(combination(rows, factors, 12), X.T @ factors, atol=1e-13)
    np.testing.assert_allclose(squared_norms(rows), (X * X).sum(axis=1), atol=1e-13)
    assert dot(rows, 7, w) == pytest.approx(X[7] @ w)


def test_a_matrix_of_zeros_and_single_precision_are_rows_too():
    assert as_rows(np.ones((1, 4))).mean_length == as_rows(np.ones((3, 4))).mean_length == 4.0
    rows = as_rows(np.zeros((3, 4), dtype=np.float32))
    assert products(rows, np.ones(4)).tolist() == [0, 0, 0]
    rows = as_rows(scipy.sparse.csr_array(np.eye(3, dtype=np.float32)))
    assert products(rows, np.arange(3.0)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("sparse", "k", "projection", "weighted"),
    [(False, 1, False, True), (False, 7, True, False), (True, 1, True, True), (True, 7, False, False)],
)
@pytest.mark.parametrize("forward", [False, True])
def test_an_iterate_is_that_of_the_formula(sparse, k, projection, weighted, forward):
    X, y = points(sparse=sparse)
    weights = np.linspace(0.5, 1.5, len(y)) if weighted else np.ones(len(y))
    problem = problem_of(X, y, LAM, weights=weights)
    order = visits("uniform", 3, 0, 1500, len(y), {})
    projection &= not forward
    plain = plain_iterates(X, y, order, k, weights, projection, forward)
    solver = LinearPegasosStepper(batch_size=k, projection=projection, seed=3)
    if forward:
        solver = FOLOSStepper(batch_size=k, seed=3)
    for end in (k, 10 * k, 1500):
        found = run(solver, problem, end, 1).coefficients
        np.testing.assert_allclose(found, plain[-(-end // k) - 1], atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("averaging", "share"), [("uniform", lambda t: 1 / t), ("weighted", lambda t: 4 / (t + 3))])
def test_an_average_of_iterates_is_that_of_the_formula(sparse, averaging, share):
    X, y = points(sparse=sparse)
    order = visits("uniform", 0, 0, 2000, len(y), {})
    mean = np.zeros(X.shape[1])
    for t, w in enumerate(plain_iterates(X, y, order, 2, np.ones(len(y)), True), start=1):
        mean += share(t) * (w - mean)
    solver = LinearPegasosStepper(batch_size=2, projection=True, averaging=averaging)
    np.testing.assert_allclose(run(solver, problem_of(X, y, LAM), 500, 4).coefficients, mean, atol=1e-9)


@pytest.mark.parametrize("averaging", ["none", "uniform", "weighted"])
def test_long_first_steps_lose_no_digits(averaging):
    # Rows of length 4 and λ = 1e-7: first steps of 4e7 are projected back to a length of 3,000, again and again.
    X, y = points()
    X, lam, w, mean = 4 * X, 1e-7, np.zeros(12), np.zeros(12)
    for t, i in enumerate(visits("uniform", 0, 0, 3000, len(y), {}), start=1):
        w = (1 - 1 / t) * w + (y[i] * (X[i] @ w) < 1) * y[i] * X[i] / (lam * t)
        w *= min(1.0, 1 / (np.sqrt(lam) * np.linalg.norm(w))) if w.any() else 1.0
        mean += {"none": 1.0, "uniform": 1 / t, "weighted": 4 / (t + 3)}[averaging] * (w - mean)
    found = run(LinearPegasosStepper(projection=True, averaging=averaging), problem_of(X, y, lam), 3000, 1).coefficients
    np.testing.assert_allclose(found, mean, rtol=1e-6, atol=1e-6 * np.linalg.norm(mean))


@pytest.mark.parametrize(
    ("solver", "within"),
    [
        # Measured 3.0e-3 for the last iterate and 2e-5 to 5e-4 for averages; three times as much is allowed.
        (LinearPegasosStepper(), 1e-2),
        (LinearPegasosStepper(averaging="weighted", projection=True), 1.5e-3),
        (FOLOSStepper(averaging="weighted"), 1.5e-3),
        (SVMSGDStepper(averaging="weighted"), 1e-3),
    ],
)
def test_the_objective_approaches_that_of_the_exact_machine(solver, within):
    X, y = points()
    problem = problem_of(X, y, LAM)
    best = problem.objective(optimum(problem, X))
    assert 0 <= problem.objective(run(solver, problem, 600, 100).coefficients) / best - 1 < within


def test_steps_of_bottou_serve_the_squared_hinge_too():
    X, y = points()
    problem = problem_of(X, y, LAM, SQUARED_HINGE)
    best = problem.objective(optimum(problem, X))
    assert problem.objective(run(SVMSGDStepper(averaging="weighted"), problem, 600, 50).coefficients) / best - 1 < 1e-3


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_a_first_step_of_bottou_has_the_least_weighted_objective_after_its_pass(loss):
    X, y = points(n=100)
    # Of the examples that weigh a thousand times as much half have the other sign: long steps serve the others alone.
    weights = np.where(np.arange(100) % 10 == 0, 1000.0, 1.0)
    y = np.where(np.arange(100) % 20 == 0, -y, y)
    problem = problem_of(X, y, LAM, loss, weights / weights.mean())

    def objective_after(step):
        state = zero_state(problem, 1.0 / (LAM * step))
        take_steps(problem, state, permutation(7, 0, 100))
        return problem.objective(state.coefficients)

    steps = 2.0 ** np.arange(-12.0, 13.0)
    values = [objective_after(step) for step in steps]
    found = int(np.log2(best_first_step(problem, 7))) + 12
    assert values[found] <= min(values[found - 1 : found + 2])
    unweighted = problem_of(X, y, LAM, loss)
    assert best_first_step(unweighted, 7) != best_first_step(problem, 7)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_visits_depend_on_their_number_alone(sampling):
    whole, held = visits(sampling, 5, 0, 36, 10, {}, 3), {}
    parts = [visits(sampling, 5, first, 6, 10, held, 3) for first in range(0, 36, 6)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(visits(sampling, 5, 18, 12, 10, {}, 3), whole[18:30])


@pytest.mark.parametrize("solver", [LinearPegasosStepper, FOLOSStepper])
def test_batches_that_do_not_divide_the_rows_skip_none_in_the_passes_that_follow(solver):
    X, y = points(n=50)
    state = run(solver(batch_size=20, sampling="in_order"), problem_of(X, y, LAM), 50, 3)
    rows = [slice(0, 20), slice(20, 40), slice(40, 50)] * 3
    w = np.zeros(X.shape[1])
    for t, batch in enumerate(rows, start=1):
        along = (y[batch] * (y[batch] * (X[batch] @ w) < 1)) @ X[batch] / (LAM * t * len(y[batch]))
        w = (1 - 1 / t) * w + along if solver is LinearPegasosStepper else (w + along) / (1 + 1 / t)
    np.testing.assert_allclose(state.coefficients, w, rtol=1e-10)


def test_each_way_of_sampling_is_what_its_name_says():
    fixed, new, uniform, ordered = (
        visits(s, 0, 0, 3000, 1000, {}).reshape(3, 1000)
        for s in ("fixed_permutation", "new_permutation", "uniform", "in_order")
    )
    assert (np.sort(new) == np.arange(1000)).all()
    assert (np.sort(fixed) == np.arange(1000)).all()
    assert (fixed[0] == fixed[1]).all()
    assert (new[0] != new[1]).any()
    assert (ordered == np.arange(1000)).all()
    # Of 1,000 independent draws a share of 1 − 1/e is distinct: 632, with a deviation of 9.8.
    assert all(590 < len(np.unique(one)) < 675 for one in uniform)
    counts = np.bincount(visits("uniform", 1, 0, 100_000, 10, {}))
    assert np.abs(counts - 10_000).max() < 500


def test_subsets_are_uniform_and_a_batch_of_all_rows_is_full_subgradient_descent():
    drawn = visits("subsets", 0, 0, 40_000, 10, {}, 4).reshape(-1, 4)
    assert (np.diff(np.sort(drawn), axis=1) > 0).all()
    # Each of the 45 pairs of rows is in a subset with probability 4·3/(10·9): 1,333 times, with a deviation of 34.
    together = sum((drawn[:, i : i + 1] == np.arange(10)).astype(int) for i in range(4))
    pairs = (together.T @ together)[np.triu_indices(10, 1)]
    assert np.abs(pairs - 40_000 / 4 * 12 / 90).max() < 150
    X, y = points(n=50)
    state = run(LinearPegasosStepper(batch_size=50, sampling="subsets"), problem_of(X, y, LAM), 50, 4)
    w = np.zeros(X.shape[1])
    for t in range(1, 5):
        w = (1 - 1 / t) * w + (y * (y * (X @ w) < 1)) @ X / (LAM * t * 50)
    np.testing.assert_allclose(state.coefficients, w, rtol=1e-10)
