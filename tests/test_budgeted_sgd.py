"""Budgeted stochastic gradient descent: compiled steps against plain ones, and what the ways to make room lose."""

import numpy as np
import pytest

from engine_example import naive_kernel, sample
from shallows import kernels
from shallows.errors import ShallowsError
from shallows.solvers.budgeted import budgeted_sgd
from shallows.solvers.budgeted.budgeted_sgd import BudgetedSGDStepper
from shallows.solvers.budgeted.sparse_rows import sparse_rows

GAUSSIAN = kernels.make("gaussian", 1.5)


def problem(n=60, n_classes=2, weighted=False):
    x = sample(n, 3)
    labels = (np.arange(n) * 7 // 3) % n_classes
    x[:, 0] += labels
    x[np.abs(x) < 0.3] = 0.0
    # Equal weights would give equal coefficients, of which rounding chooses the smallest.
    return sparse_rows(x, labels, 0.5 + np.abs(sample(n, 1, seed=9)[:, 0]) if weighted else None, n_classes)


def naive_scores(z, a, x):
    return naive_kernel("gaussian", 1.5, x, z) @ a if len(z) else np.zeros((len(x), a.shape[1]))


def naive_room(way, z, a):
    """The points and coefficients with one point fewer, from the definitions."""
    i = int(np.argmin((a**2).sum(axis=1)))
    rest = np.delete(np.arange(len(z)), i)
    if way == "removal":
        return z[rest], a[rest]
    if way == "projection":
        K = naive_kernel("gaussian", 1.5, z, z)
        beta = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
        return z[rest], a[rest] + beta[:, None] * a[i]
    found = []
    for j in rest:
        if a[i] @ a[j] <= 0:
            continue
        pair, both = np.array([z[i], z[j]]), np.array([a[i], a[j]])
        total = np.einsum("ic,ij,jc->", both, naive_kernel("gaussian", 1.5, pair, pair), both)
        h = np.linspace(0, 1, 2001)[:, None]
        points = h * z[i] + (1 - h) * z[j]
        merged = naive_kernel("gaussian", 1.5, points, pair) @ both
        best = np.argmax((merged**2).sum(axis=1))
        found.append((total - merged[best] @ merged[best], j, points[best], merged[best]))
    if not found:
        return z[rest], a[rest]
    _, j, point, merged = min(found, key=lambda one: one[0])
    others = np.delete(np.arange(len(z)), [i, j])
    return np.vstack([z[others], point]), np.vstack([a[others], merged])


def naive_training(given, way, budget, regularisation, n_steps):
    x, c = given.points.toarray(), 1 if given.n_classes == 2 else given.n_classes
    z, a, lost = np.zeros((0, x.shape[1])), np.zeros((0, c)), 0.0
    for t in range(1, n_steps + 1):
        i = t - 1
        scores, y = naive_scores(z, a, x[i : i + 1])[0], given.labels[i]
        change = np.zeros(c)
        if c == 1:
            sign = 2 * y - 1
            violated, change[0] = sign * scores[0] < 1, sign
        else:
            others = np.where(np.arange(c) == y, -np.inf, scores)
            violated = scores[y] - others.max() < 1
            change[y], change[others.argmax()] = 1, -1
        a = a * (1 - 1 / t)
        if violated:
            z, a = np.vstack([z, x[i]]), np.vstack([a, change * given.weights[i] / (regularisation * t)])
            if len(z) > budget:
                before, (z, a) = (z, a), naive_room(way, z, a)
                lost += distance(*before, z, a)
    return z, a, lost


@pytest.mark.parametrize("way", budgeted_sgd.MAINTENANCE)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_compiled_steps_are_those_of_the_definition(way, n_classes):
    given = problem(n_classes=n_classes, weighted=True)
    solver = BudgetedSGDStepper(GAUSSIAN, 8, 0.01, way, "golden_section")
    state = solver.init(given)
    for first in range(0, 30, 10):
        state = solver.step(given, state, np.arange(first, first + 10))
    z, a, lost = naive_training(given, way, 8, 0.01, 30)
    new = sample(20, 3, seed=5)
    expected = naive_scores(z, a, new)
    # The merged points are searched to 1e-5 here and on a grid of 5e-4 there.
    tolerance = 5e-3 if way == "merging" else 1e-9
    found = naive_scores(state.centers, state.coefficients, new)
    assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()
    assert state.n_points == 8
    assert state.n_steps == 30
    assert state.lost == pytest.approx(lost, rel=tolerance)


def compiled(z, a, way, by_table=False):
    """The points and coefficients after one call for room in a full budget, and what it lost."""
    columns, buffer = np.ascontiguousarray(kernels.augmented(z).T), a.copy()
    gram = naive_kernel("gaussian", 1.5, z, z) if way == "projection" else np.zeros((0, 0))
    gamma = 0.5 / 1.5**2
    if way == "merging":
        table = budgeted_sgd.table_of_losses() if by_table else np.zeros((0, 0))
        left, lost = budgeted_sgd.merge(len(z), columns, buffer, gram, gamma, table, 1e-2)
    else:
        i, lost = budgeted_sgd.smallest_point(len(z), buffer)
        if way == "projection":
            left, lost = budgeted_sgd.project(i, len(z), columns, buffer, gram)
        else:
            left = budgeted_sgd.drop(i, len(z), columns, buffer, gram)
    return columns[:-2, :left].T, buffer[:left], lost


def distance(z, a, other_z, other_a):
    """‖f − g‖²."""
    points, signs = np.vstack([z, other_z]), np.vstack([a, -other_a])
    return float(np.einsum("ic,ij,jc->", signs, naive_kernel("gaussian", 1.5, points, points), signs))


@pytest.mark.parametrize("way", budgeted_sgd.MAINTENANCE)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_what_is_said_to_be_lost_is_the_distance_of_the_functions(way, n_outputs):
    z, a = sample(12, 3), np.abs(sample(12, n_outputs, seed=1)) + 0.1
    new_z, new_a, lost = compiled(z, a, way)
    assert lost == pytest.approx(distance(z, a, new_z, new_a), rel=1e-6)


def test_points_of_unlike_signs_are_not_merged_but_dropped():
    z, a = sample(2, 3), np.array([[1.0], [-0.5]])
    new_z, _, lost = compiled(z, a, "merging")
    assert np.array_equal(new_z, z[:1])
    assert lost == 0.25


def test_the_table_holds_the_losses_of_the_best_merge():
    table = budgeted_sgd.table_of_losses()
    h = np.linspace(0, 1, 20001)
    for share, k in [(0.1, 0.9), (0.37, 0.5), (0.5, 0.05), (0.8, 0.2), (0.613, 0.731)]:
        a, b = share, 1 - share
        # Terms a κ^{(1−h)²} + b κ^{h²}, whose square is what is kept.
        kept = (a * k ** ((1 - h) ** 2) + b * k ** (h**2)).max() ** 2
        exact = a * a + b * b + 2 * a * b * k - kept
        assert budgeted_sgd.interpolate(table, share, k) == pytest.approx(exact, abs=2e-4)


def test_the_table_chooses_partners_that_lose_hardly_more_than_the_best():
    for seed in range(20):
        z, a = sample(30, 3, seed=seed), np.abs(sample(30, 1, seed=100 + seed)) + 0.05
        searched, looked_up = (compiled(z, a, "merging", by_table)[2] for by_table in (False, True))
        assert looked_up <= 1.05 * searched + 1e-5


def test_only_a_search_by_table_reads_the_table(monkeypatch):
    given = problem(weighted=True)

    def points(line_search, maintenance="merging"):
        solver = BudgetedSGDStepper(GAUSSIAN, 8, 0.01, maintenance, line_search)
        return solver.step(given, solver.init(given), np.arange(30)).centers

    cases = [("golden_section",), ("lookup", "removal"), ("lookup",), ("auto",)]
    before, table = [points(*case) for case in cases], budgeted_sgd.table_of_losses()
    monkeypatch.setattr(budgeted_sgd, "table_of_losses", lambda: 1.0 - table)  # The worst partner is the best.
    found = [np.array_equal(points(*case), old) for case, old in zip(cases, before, strict=True)]
    assert found == [True, True, False, False]


def test_a_state_goes_on_from_what_was_kept_of_it():
    given = problem(n_classes=3)
    for way in budgeted_sgd.MAINTENANCE:
        solver = BudgetedSGDStepper(GAUSSIAN, 6, 0.05, way)
        state = solver.step(given, solver.init(given), np.arange(30))
        held, numbers = state.remember()
        state = solver.step(given, state, np.arange(30, 60))
        other = solver.init(given)
        other.recall(held, numbers)
        other = solver.step(given, other, np.arange(30, 60))
        x = sample(20, 3, seed=5)
        scores = [naive_scores(one.centers, one.coefficients, x) for one in (other, state)]
        # Kernel values that are computed again differ in their last digits.
        assert np.abs(scores[0] - scores[1]).max() <= 1e-9 * np.abs(state.coefficients).sum()
        assert other.n_steps == 60


def test_parameters_out_of_range_are_told():
    with pytest.raises(ShallowsError, match="two classes"):
        BudgetedSGDStepper(GAUSSIAN, 5, 0.1, line_search="lookup").init(problem(n_classes=3))
