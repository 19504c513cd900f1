"""Kernel support vector machines: sequential minimal optimization and LASVM, against LIBSVM and the optimum."""

import dataclasses
import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

import shallows
from engine_example import naive_kernel, sample
from kernel_svm_example import coefficients_of, dual_objective, dual_problem, slab_of, two_classes
from resumed_example import stopped_at_every_batch
from shallows import KernelSVMClassifier, kernels
from shallows.errors import ShallowsError
from shallows.gram.row_slab import KernelRowSlab
from shallows.solvers import LASVM, SMO
from shallows.solvers.support_vectors.dual_problem import DualProblem, DualState, intercept, objective
from shallows.solvers.support_vectors.lasvm import ExampleProblem, LASVMStepper
from shallows.solvers.support_vectors.smo import SMOStepper, best_partner
from shallows.training import Batches, OwnRows, Stopping, train


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


# LASVM: the optimum after a few passes, examples one after the other, and streams.


def problem(x, y, C):
    n = len(y)
    examples = kernels.augmented(x), y, np.full(n, C), np.arange(n), (y > 0).astype(int)
    return ExampleProblem(kernels.make("gaussian", 1.0), *examples)


def coefficients(state, n):
    beta = np.zeros(n)
    slots = state.at_hand
    beta[state.numbers[slots]] = state.coefficients[slots]
    return beta


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_few_passes_end_at_libsvm_s_optimum(C):
    x, y = two_classes(400)
    options = {"bandwidth": 1.0, "C": C, "random_state": 0}
    model = KernelSVMClassifier(solver=LASVM(max_epochs=4, tol=1e-6), **options).fit(x, y)
    exact = SVC(C=C, gamma=0.5, tol=1e-6).fit(x, y)
    optimum = dual_objective(coefficients_of(exact, 400), x, y)
    assert model.objectives_[0] == pytest.approx(optimum, rel=1e-6)
    assert np.abs(model.decision_function(x) - exact.decision_function(x)).max() < 1e-3
    once = KernelSVMClassifier(solver="lasvm", **options).fit(x, y)
    # A pass over 400 examples; with the large C most of them are still moving.
    assert 0 <= 1 - once.objectives_[0] / optimum < (0.01 if C < 1 else 0.2)
    online = KernelSVMClassifier(solver=LASVM(finish=False), **options).fit(x, y)
    assert online.objectives_[0] <= once.objectives_[0]


@pytest.mark.parametrize("n_first", [1, 10])
def test_a_feature_that_is_constant_in_the_first_rows_of_a_stream_counts_in_later_ones(n_first):
    x = np.random.default_rng(0).integers(0, 2, size=(200, 4)).astype(float)
    x[:n_first, 0] = 0.0
    x[0, 1:] = 0.5
    y = x[:, 0]
    model = KernelSVMClassifier(solver="lasvm", bandwidth=1.0, random_state=0).partial_fit(
        x[:n_first], y[:n_first], classes=[0.0, 1.0]
    )
    for i in range(n_first, 200):
        model.partial_fit(x[i : i + 1], y[i : i + 1])
    assert model.score(x, y) == 1.0


def test_blas_computes_kernel_values_with_one_thread(monkeypatch):
    """On a busy machine, threads that waited for each other made a fit five times slower."""
    x, y = two_classes(400)
    seen, values = [], kernels.values

    def watched(*given):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return values(*given)

    monkeypatch.setattr(kernels, "values", watched)
    with threadpool_limits(2, user_api="blas"):
        train(LASVMStepper(), problem(x, y, 1.0), Batches(400, 64, 0), Stopping(1))
    assert set(seen) == {1}


@pytest.mark.parametrize("seed", [3, 4, 10])
def test_the_intercept_is_libsvm_s_where_rounding_leaves_a_coefficient_just_within_its_bound(seed):
    # Few points that are nearly orthogonal: all coefficients are C, or one is, but for the last digit.
    x = np.random.default_rng(seed).normal(size=(20, 300))
    y = np.arange(20) % 2
    model = KernelSVMClassifier(solver="lasvm", bandwidth=24.0, random_state=0).fit(x, y)
    exact = SVC(gamma=0.5 / 24.0**2, tol=1e-8).fit(x, y)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=1e-3)
    assert model.score(x, y) == exact.score(x, y) == 1.0


@pytest.mark.parametrize("size", [1, 64])
def test_gradients_and_bounds_hold_after_every_batch_and_the_objective_never_falls(size):
    x, y = two_classes(400)
    K, task, solver = naive_kernel("gaussian", 1.0, x, x), problem(x, y, 2.0), LASVMStepper()
    state, before = solver.init(task), 0.0
    for start in range(0, 400, size):
        state = solver.step(task, state, slice(start, min(400, start + size)))
        beta, slots = coefficients(state, 400), state.at_hand
        assert abs(beta.sum()) < 1e-9
        assert (y * beta >= 0).all() and np.abs(beta).max() <= 2.0
        at_hand = state.numbers[slots]
        assert np.abs(state.gradient[slots] - (y - K @ beta)[at_hand]).max() < 1e-6
        assert state.objective == pytest.approx(y @ beta - 0.5 * beta @ K @ beta, abs=1e-6)
        assert state.objective >= before - 1e-9
        before = state.objective
    assert len(slots) < 400


def test_a_run_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path):
    x, y = two_classes(400)

    def once(**options):
        return train(LASVMStepper(), problem(x, y, 2.0), Batches(400, 50, 0), Stopping(2), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)
    assert resumed.n_resumes > 2


@pytest.mark.parametrize(
    ("options", "fit", "words"),
    [
        ({"solver": LASVM(max_epochs=0)}, "fit", "max_epochs"),
        ({"solver": "lasvm", "class_weight": "balanced"}, "partial_fit", "balanced"),
        ({"solver": "lasvm"}, "fit", "one class only"),
    ],
)
def test_impossible_parameters_are_refused(options, fit, words):
    x, y = two_classes(40)
    with pytest.raises((ShallowsError, ValueError), match=words):
        getattr(KernelSVMClassifier(**options), fit)(x, np.ones(40) if words == "one class only" else y)
