"""The adaptive multi-hyperplane machine: compiled steps against plain ones, assignments and pruning."""

import numpy as np
import pytest

from engine_example import sample
from shallows.solvers.budgeted import multi_hyperplane
from shallows.solvers.budgeted.multi_hyperplane import MultiHyperplaneStepper
from shallows.solvers.budgeted.sparse_rows import sparse_rows


def problem(n=80, n_classes=3):
    x = sample(n, 4)
    labels = (np.arange(n) * 7 // 3) % n_classes
    x[:, 0] += labels
    x[np.abs(x) < 0.3] = 0.0
    return sparse_rows(x, labels, 0.5 + np.arange(n) % 3, n_classes)


def naive_pruned(planes, threshold):
    """The hyperplanes that stay, and the sum of the squared norms of the others."""
    norms, classes = np.array([w @ w for _, w in planes]), np.array([c for c, _ in planes])
    largest = {int(np.argmax(np.where(classes == c, norms, -1.0))) for c in set(classes.tolist())}
    order = np.argsort(norms)
    gone = set(order[np.cumsum(norms[order]) <= threshold].tolist()) - largest
    return [plane for j, plane in enumerate(planes) if j not in gone], sum(norms[j] for j in gone)


def naive_training(given, solver, order):
    """A list of (class, weights) and the place in it that each row was assigned to, from the definition."""
    x = np.hstack([given.points.toarray(), np.full((len(given.labels), 1), solver.constant)])
    planes = [(c, np.zeros(x.shape[1])) for c in range(given.n_classes)]
    assigned = {}
    for t, i in enumerate(order, start=1):
        y, scores = given.labels[i], np.array([w @ x[i] for _, w in planes])
        classes = np.array([c for c, _ in planes])
        best = int(np.argmax(np.where(classes == y, scores, -np.inf)))
        other = int(np.argmax(np.where(classes == y, -np.inf, scores)))
        own = assigned.get(i, best) if solver.batch else best
        assigned[i] = best

        def has_room(c, classes=classes):
            return (classes == c).sum() < solver.n_hyperplanes

        zero = solver.reserve and scores[other] < 0 and has_room(classes[other])
        of_other = 0.0 if zero else scores[other]
        of_own = max(0.0, scores[own]) if solver.reserve and own == best and has_room(y) else scores[own]
        violated = 1 + of_other - of_own > 0
        planes = [(c, w * (1 - 1 / t)) for c, w in planes]
        if violated:
            change = given.weights[i] * x[i] / (solver.regularization * t)
            if scores[own] <= 0 and own == best and has_room(y):
                planes.append((y, np.zeros(x.shape[1])))
                own = assigned[i] = len(planes) - 1
            if zero:
                planes.append((classes[other], np.zeros(x.shape[1])))
                other = len(planes) - 1
            planes[own] = (y, planes[own][1] + change)
            planes[other] = (planes[other][0], planes[other][1] - change)
        if t % solver.prune_every == 0:
            planes, lost = naive_pruned(planes, (solver.aggressiveness / (solver.regularization * t)) ** 2)
            assigned["lost"] = assigned.get("lost", 0.0) + lost
    return planes, assigned


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(("n_classes", "reserve"), [(3, False), (2, True), (3, True)])
def test_compiled_steps_are_those_of_the_definition(batch, n_classes, reserve):
    given = problem(n_classes=n_classes)
    solver = MultiHyperplaneStepper(
        0.01, 4, batch, prune_every=10**6, constant=0.0 if reserve else 0.5, reserve=reserve
    )
    state, order = solver.init(given), []
    for epoch in range(3):
        rows = np.random.default_rng(epoch).permutation(80)
        order.extend(rows.tolist())
        for part in (rows[:33], rows[33:]):
            state = solver.step(given, state, part)
    planes, assigned = naive_training(given, solver, order)
    assert state.n_weights == len(planes) > n_classes
    assert state.classes[: state.n_weights].tolist() == [c for c, _ in planes]
    # The constant's column is what it is multiplied with.
    expected = np.array([w for _, w in planes])
    assert np.abs(state.coefficients - expected).max() < 1e-10 * np.abs(expected).max()
    if batch:
        names = state.names[: state.n_weights].tolist()
        assert [names.index(name) for name in state.assigned] == [assigned[i] for i in range(80)]


def test_hyperplanes_are_pruned_in_the_course_of_a_training_by_their_own_norms():
    given, rows = problem(), np.random.default_rng(0).permutation(80)
    solver = MultiHyperplaneStepper(0.01, 4, False, prune_every=20, aggressiveness=2.0, constant=0.5)
    state = solver.step(given, solver.init(given), rows)
    planes, told = naive_training(given, solver, rows.tolist())
    assert told["lost"] > 0
    assert state.pruned == pytest.approx(told["lost"], rel=1e-10)
    expected = np.array([w for _, w in planes])
    assert np.abs(state.coefficients - expected).max() < 1e-10 * np.abs(expected).max()


def test_pruning_takes_the_smallest_up_to_the_threshold_and_leaves_one_of_each_class():
    weights = np.diag([0.1, 0.2, 3.0, 0.3, 4.0, 0.4]) + 0.0
    classes, names = np.array([0, 0, 0, 1, 1, 2]), np.arange(6)
    columns = np.ascontiguousarray(weights.T)
    left, lost = multi_hyperplane.prune(6, columns, classes, names, 0.01 + 0.04 + 0.09 + 0.01)
    assert names[:left].tolist() == [2, 4, 5]
    assert classes[:left].tolist() == [0, 1, 2]
    assert np.array_equal(columns[:, :left].T, weights[[2, 4, 5]])
    assert lost == pytest.approx(0.01 + 0.04 + 0.09)
    # The only one of its class stays, however small.
    columns, classes, names = np.ascontiguousarray(weights.T), np.array([0, 0, 0, 1, 1, 2]), np.arange(6)
    left, _ = multi_hyperplane.prune(6, columns, classes, names, 10.0)
    assert names[:left].tolist() == [2, 4, 5]


def test_a_row_whose_hyperplane_was_pruned_takes_the_best_there_is():
    given = problem()
    solver = MultiHyperplaneStepper(0.01, 4, True, prune_every=80, aggressiveness=1e6)
    state = solver.step(given, solver.init(given), np.arange(80))
    assert not np.isin(state.assigned, state.names[: state.n_weights]).all()
    state = solver.step(given, state, np.arange(79))
    assert state.is_finite()
    assert np.isin(state.assigned[:40], state.names[: state.n_weights]).any()


def test_a_state_goes_on_from_what_was_kept_of_it_to_the_bit():
    given, solver = problem(), MultiHyperplaneStepper(0.01, 4, True, prune_every=50, aggressiveness=3.0)
    state = solver.step(given, solver.init(given), np.arange(80))
    held, numbers = state.remember()
    state = solver.step(given, state, np.arange(80))
    other = solver.init(given)
    other.recall(held, numbers)
    other = solver.step(given, other, np.arange(80))
    assert np.array_equal(other.coefficients, state.coefficients)
    assert np.array_equal(other.assigned, state.assigned)
    assert other.n_steps == 160
