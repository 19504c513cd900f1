"""Sequential minimal optimization: the optimum, against LIBSVM and against the conditions of optimality."""

import dataclasses
import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import shallows
from engine_example import naive_kernel, sample
from kernel_svm_example import dual_problem, slab_of, two_classes
from shallows import KernelSVMClassifier, kernels
from shallows.errors import ShallowsError
from shallows.gram.row_slab import KernelRowSlab
from shallows.solvers import SMO
from shallows.solvers.support_vectors.dual_problem import DualProblem, DualState, intercept, objective
from shallows.solvers.support_vectors.smo import SMOStepper, best_partner
from shallows.training import OwnRows, Stopping, train


@pytest.mark.parametrize("capacity", [2, 7, 40])
def test_the_rows_of_a_slab_are_those_of_the_matrix_and_the_oldest_goes_first(capacity):
    x = sample(40)
    K = naive_kernel("laplace", 1.5, x, x) + np.diag(np.arange(40.0))
    slab = KernelRowSlab(
        kernels.make("laplace", 1.5), kernels.augmented(x), budget=capacity * 40 * 8, ridge=np.arange(40.0)
    )
    assert slab.capacity == capacity
    assert np.array_equal(slab.diagonal, K.diagonal())
    recent = []
    for i in np.random.default_rng(0).integers(40, size=60):
        before = slab.n_made
        assert np.abs(slab.fetch(i) - K[i]).max() < 1e-7
        assert (slab.n_made == before) == (i in recent)
        recent = [*(j for j in recent if j != i), i][-capacity:]
        assert sorted(np.flatnonzero(slab.slot_of >= 0)) == sorted(recent)


def test_the_product_of_a_slab_is_that_of_the_matrix_with_its_ridge():
    x, ridge = sample(40), np.linspace(0, 1, 40)
    K = naive_kernel("laplace", 1.5, x, x) + np.diag(ridge)
    slab = KernelRowSlab(kernels.make("laplace", 1.5), kernels.augmented(x), budget=0, ridge=ridge)
    a = np.where(np.arange(40) % 3 == 0, sample(40, 1)[:, 0], 0.0)
    rows = np.array([30, 2, 3, 39])
    assert np.allclose(slab.product(a), K @ a, atol=1e-12)
    assert np.allclose(slab.product(a, rows), K[rows] @ a, atol=1e-12)
    assert np.array_equal(slab.product(np.zeros(40)), np.zeros(40))


def test_shrinking_takes_rows_out_and_ends_at_the_same_optimum():
    x, y = two_classes(1500)
    problem = dual_problem(x, y, 0.5)
    state = SMOStepper(1e-6).init(problem)
    state.until_shrinking, fewest = 50, 1500
    while not state.exhausted:
        SMOStepper(1e-6).step(problem, state, 50)
        state.until_shrinking = min(state.until_shrinking, 50)
        fewest = min(fewest, len(state.active))
    assert fewest < 600
    assert len(state.active) == 1500
    assert np.abs(state.gradient - (y - naive_kernel("gaussian", 1.0, x, x) @ state.coefficients)).max() < 1e-6
    gap = state.gradient[state.coefficients < problem.upper].max()
    gap -= state.gradient[state.coefficients > problem.lower].min()
    assert gap <= 1.1e-6


@pytest.mark.parametrize("capacity", [2, 30])
def test_what_is_kept_changes_the_cost_and_not_the_steps(capacity):
    x, y = two_classes()
    few, many = (dual_problem(x, y, 2.0, kept) for kept in (capacity, 240))
    states = [train(SMOStepper(1e-5), problem, OwnRows(100), Stopping(10**6)).state for problem in (few, many)]
    assert np.array_equal(states[0].coefficients, states[1].coefficients)
    assert many.rows.n_made <= 240
    assert few.rows.n_made > 1.2 * many.rows.n_made


def test_weights_of_rows_and_classes_are_factors_of_c():
    x, y = two_classes()
    w = np.where(np.arange(240) % 2, 0.5, 2.0)
    model = KernelSVMClassifier(solver=SMO(tol=1e-6), bandwidth=1.0, C=2.0, class_weight={-1.0: 3.0}).fit(
        x, y, sample_weight=w
    )
    exact = SVC(C=2.0, gamma=0.5, class_weight={-1.0: 3.0}, tol=1e-6).fit(x, y, sample_weight=w)
    assert np.abs(model.decision_function(x) - exact.decision_function(x)).max() < 1e-4
    plain = KernelSVMClassifier(solver=SMO(tol=1e-6), bandwidth=1.0, C=2.0).fit(x, y)
    assert np.abs(model.decision_function(x) - plain.decision_function(x)).max() > 0.1


@pytest.mark.parametrize("multiclass", ["one_vs_one", "one_vs_rest"])
def test_several_classes_are_those_of_scikit_learn(multiclass):
    X, y = load_digits(n_class=5, return_X_y=True)
    train_X, train_y, new = X[:250] / 16, y[:250], X[250:400] / 16
    model = KernelSVMClassifier(solver=SMO(tol=1e-6), bandwidth=1.5, C=5.0, multiclass=multiclass).fit(train_X, train_y)
    exact = SVC(C=5.0, gamma=1 / (2 * 1.5**2), tol=1e-6)
    if multiclass == "one_vs_one":
        theirs = exact.fit(train_X, train_y).decision_function(new)
        assert (model.predict(new) == exact.predict(new)).mean() > 0.99
    else:
        theirs = np.column_stack([exact.fit(train_X, train_y == c).decision_function(new) for c in range(5)])
    assert np.abs(model.decision_function(new) - theirs).max() < 1e-4
    assert len(model.dual_coef_) == (4 if multiclass == "one_vs_one" else 5)


def test_a_row_that_both_classes_have_is_at_its_bound_in_both():
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = KernelSVMClassifier(bandwidth=1.0, C=10.0).fit(x, [0, 1, 0, 1])
    assert np.allclose(np.abs(model.dual_coef_), 10.0)
    assert np.allclose(model.decision_function(x), 0.0, atol=1e-6)


def test_one_class_is_refused_by_its_name():
    with pytest.raises(ValueError, match="one class only \\('left'\\)"):
        KernelSVMClassifier().fit(sample(10), ["left"] * 10)


def test_a_matrix_a_kernel_and_a_saved_model_give_the_same(tmp_path):
    x, y = two_classes()
    K = naive_kernel("gaussian", 1.0, x, x)
    model = KernelSVMClassifier(solver=SMO(tol=1e-6), bandwidth=1.0).fit(x, y)
    from_matrix = KernelSVMClassifier(solver=SMO(tol=1e-6), kernel="precomputed").fit(K, y)
    assert np.abs(model.decision_function(x) - from_matrix.decision_function(K)).max() < 1e-5
    shallows.save(model, tmp_path / "model.skops")
    for again in (shallows.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.decision_function(x), model.decision_function(x))


def test_the_objective_and_intercept_of_a_state_are_those_of_the_formulas():
    x, y = two_classes()
    problem = dual_problem(x, y, 2.0)
    state = train(SMOStepper(1e-6), problem, OwnRows(100), Stopping(10**6)).state
    beta, K = state.coefficients, naive_kernel("gaussian", 1.0, x, x)
    assert objective(problem, state) == pytest.approx(y @ beta - 0.5 * beta @ K @ beta, rel=1e-9)
    free = (np.abs(beta) > 0) & (np.abs(beta) < 2.0)
    assert intercept(problem, state) == pytest.approx((y - K @ beta)[free].mean(), abs=1e-9)
    bound = dataclasses.replace(state, coefficients=np.where(y > 0, 2.0, -2.0), gradient=np.where(y > 0, 3.0, 1.0))
    assert intercept(problem, bound) == 2.0  # between the smallest that may fall and the largest that may grow


def test_the_end_of_a_training_has_the_gradient_of_all_rows():
    x, y = sample(20), np.resize([1.0, -1.0], 20)
    problem = dual_problem(x, y, 1.0)
    state = DualState.start(problem)
    state.coefficients[:4] = 0.5 * y[:4]
    state.gradient[:10], state.active = problem.gradient(state.coefficients, np.arange(10)), np.arange(10)
    _, found = problem.ending(state)
    K, beta = naive_kernel("gaussian", 1.0, x, x), state.coefficients
    assert found == pytest.approx(y @ beta - 0.5 * beta @ K @ beta)
    assert state.gradient == pytest.approx(y - K @ beta, abs=1e-12)


def test_the_partner_of_a_row_is_the_row_of_the_largest_gain_that_may_fall():
    K, gradient = naive_kernel("gaussian", 2.0, sample(30), sample(30)), sample(30, 1)[:, 0]
    lower, beta = np.zeros(30), np.where(np.arange(30) % 4 == 0, 0.0, 0.5)
    for i in np.argsort(gradient)[-10:]:
        may_fall = np.flatnonzero((beta > lower) & (gradient < gradient[i]))
        gains = (gradient[i] - gradient[may_fall]) ** 2 / (K[i, i] + K.diagonal()[may_fall] - 2.0 * K[i, may_fall])
        best, smallest = best_partner(i, beta, gradient, lower, np.arange(30), K.diagonal(), K[i])
        assert best == may_fall[gains.argmax()]
        assert smallest == gradient[may_fall].min()


@pytest.mark.parametrize(("dtype", "too_large"), [("float64", 1e-5), ("float32", 1e-2)])
def test_a_kernel_value_above_the_diagonal_is_refused_unless_it_is_rounded(dtype, too_large):
    x, y = sample(2).astype(dtype), np.array([1.0, -1.0])
    for excess in (too_large / 100, too_large):
        problem = DualProblem.of_classes(slab_of(x, 2), y, np.ones(2))
        problem.rows.fetch(0), problem.rows.fetch(1)
        problem.rows.rows[problem.rows.slot_of] = np.where(np.eye(2), 1.0, 1.0 + excess)
        with pytest.raises(ShallowsError, match="squared distance") if excess == too_large else nullcontext():
            SMOStepper().step(problem, SMOStepper().init(problem), 1)


def test_distances_that_break_the_triangle_inequality_are_refused_at_the_optimum():
    # Squared distances 0.1, 0.1 and 4 of three rows: no pair shows it, but (1, -2, 1) has the squared norm -3.6.
    problem = DualProblem.of_classes(slab_of(sample(3), 3), np.array([1.0, -1.0, 1.0]), np.full(3, 10.0))
    for i in range(3):
        problem.rows.fetch(i)
    K = np.array([[1.0, 0.95, -1.0], [0.95, 1.0, 0.95], [-1.0, 0.95, 1.0]])
    problem.rows.rows[problem.rows.slot_of] = K
    with pytest.raises(ShallowsError, match="squared norm of the fitted function"):
        SMOStepper().step(problem, SMOStepper().init(problem), 100)


@pytest.mark.parametrize(("gap", "before", "after"), [(2.0, 0, 0), (1e-3, 0, 1), (1e-3, 1, 1)])
def test_variables_come_back_once_and_only_when_the_gap_is_small(gap, before, after):
    x, y = sample(20), np.resize([1.0, -1.0], 20)
    problem = dual_problem(x, y, 1.0)
    state = DualState.start(problem)
    state.gradient[...] = 0.5 * gap * y
    state.active, state.n_reconstructions = np.arange(18), before
    SMOStepper(1e-3)._shrink(problem, state)
    assert state.n_reconstructions == after
    assert (len(state.active) > 18) == (after > before)


@parametrize_with_checks([KernelSVMClassifier(solver=SMO(tol=1e-10))])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)
