"""Sequential minimal optimisation: the optimum, against LIBSVM and against the conditions of optimality."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import shallows
from engine_example import naive_kernel, sample
from resumed_example import stopped_at_every_batch
from shallows import KernelSVMClassifier, kernels
from shallows.errors import ShallowsError
from shallows.gram.row_slab import KernelRowSlab
from shallows.solvers import SMO
from shallows.solvers.support_vectors.dual_problem import DualProblem, DualState, intercept, objective
from shallows.solvers.support_vectors.smo import SMOStepper
from shallows.training import OwnRows, Stopping, train


def two_classes(n=240, seed=0):
    x = sample(n, 3, seed)
    noise = sample(n, 1, seed + 1)[:, 0]
    return x, np.where(x[:, 0] ** 2 + x[:, 1] + 0.4 * noise > 0.5, 1.0, -1.0)


def dual_objective(model, X, y, machine=0):
    """Σ αᵢ − ½ βᵀKβ by the naive formula."""
    beta = np.zeros(len(X))
    beta[model.support_] = np.ravel(model.dual_coef_)
    return y @ beta - 0.5 * beta @ naive_kernel("gaussian", 1.0, X, X) @ beta


# ------------------------------------------------------------------------------------------ rows in one array


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


def test_rows_that_were_taken_out_come_back_once_near_the_end():
    x, y = two_classes()
    slab = KernelRowSlab(kernels.make("gaussian", 1.0), kernels.augmented(x), budget=10**8)
    problem, solver = DualProblem.of_classes(slab, y, np.full(240, 2.0)), SMOStepper(1e-3)
    state = solver.step(problem, solver.init(problem), 10**5)
    assert state.exhausted
    for before, after in ((0, 1), (1, 1)):
        state.active, state.n_reconstructions = np.arange(100), before
        solver._shrink(problem, state)
        assert state.n_reconstructions == after
        assert (state.active.max() >= 100) == (before == 0)


# ------------------------------------------------------------------------------------------------ the optimum


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("shrinking", [False, True])
def test_the_optimum_is_libsvm_s(C, shrinking):
    x, y = two_classes()
    model = KernelSVMClassifier(solver=SMO(shrinking=shrinking, tol=1e-6), bandwidth=1.0, C=C).fit(x, y)
    exact = SVC(C=C, gamma=0.5, tol=1e-6).fit(x, y)
    # At a gap of 1e-6 the objectives are within the gap times the sum of the dual variables.
    assert dual_objective(model, x, y) == pytest.approx(dual_objective(exact, x, y), rel=1e-6)
    assert model.objectives_[0] == pytest.approx(dual_objective(model, x, y), rel=1e-9)
    new = sample(100, 3, seed=7)
    assert np.abs(model.decision_function(new) - exact.decision_function(new)).max() < 1e-4 * max(1.0, np.sqrt(C))


def test_shrinking_takes_rows_out_and_ends_at_the_same_optimum():
    x, y = two_classes(1500)
    problem = DualProblem.of_classes(slab_of(x, 1500), y, np.full(1500, 0.5))
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


def slab_of(x, capacity):
    return KernelRowSlab(kernels.make("gaussian", 1.0), kernels.augmented(x), budget=capacity * len(x) * 8)


@pytest.mark.parametrize("capacity", [2, 30])
def test_what_is_kept_changes_the_cost_and_not_the_steps(capacity):
    x, y = two_classes()
    runs = []
    for kept in (capacity, 240):
        rows = slab_of(x, kept)
        problem = DualProblem.of_classes(rows, y, np.full(240, 2.0))
        runs.append((train(SMOStepper(1e-5), problem, OwnRows(100), Stopping(10**6)).state, rows.n_made))
    (few, made_with_few), (many, made_with_many) = runs
    assert np.array_equal(few.coefficients, many.coefficients)
    assert made_with_many <= 240
    assert made_with_few > 1.2 * made_with_many


def test_the_squared_hinge_is_solved_to_its_conditions():
    # At the optimum αᵢ = C max(0, 1 − yᵢ f(xᵢ)), the derivative of the loss.
    x, y = two_classes()
    w = np.linspace(0.5, 2.0, 240)
    model = KernelSVMClassifier(solver=SMO(tol=1e-8), bandwidth=1.0, C=3.0, loss="squared_hinge").fit(
        x, y, sample_weight=w
    )
    beta = np.zeros(240)
    beta[model.support_] = model.dual_coef_[0]
    expected = 3.0 * w * np.maximum(0.0, 1.0 - y * model.decision_function(x))
    assert np.abs(y * beta - expected).max() < 1e-6
    assert abs(beta.sum()) < 1e-9


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
    X, y = load_digits(return_X_y=True)
    train_X, train_y, new = X[:500] / 16, y[:500], X[500:800] / 16
    model = KernelSVMClassifier(solver=SMO(tol=1e-6), bandwidth=1.5, C=5.0, multiclass=multiclass).fit(train_X, train_y)
    gamma = 1 / (2 * 1.5**2)
    if multiclass == "one_vs_one":
        theirs = SVC(C=5.0, gamma=gamma, tol=1e-6).fit(train_X, train_y)
        assert np.abs(model.decision_function(new) - theirs.decision_function(new)).max() < 1e-4
        assert (model.predict(new) == theirs.predict(new)).mean() > 0.99
    else:
        theirs = np.column_stack(
            [SVC(C=5.0, gamma=gamma, tol=1e-6).fit(train_X, train_y == c).decision_function(new) for c in range(10)]
        )
        assert np.abs(model.decision_function(new) - theirs).max() < 1e-4
    assert len(model.dual_coef_) == (9 if multiclass == "one_vs_one" else 10)


def test_a_run_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path):
    x, y = two_classes()

    def once(**options):
        problem = DualProblem.of_classes(slab_of(x, 30), y, np.full(240, 2.0))
        return train(SMOStepper(1e-4), problem, OwnRows(40, n_batches=3), Stopping(10**6), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)
    assert whole.state.n_steps == resumed.state.n_steps
    assert resumed.n_resumes > 2


# --------------------------------------------------------------------------------------------------- the edges


def test_a_row_that_both_classes_have_is_at_its_bound_in_both():
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = KernelSVMClassifier(bandwidth=1.0, C=10.0).fit(x, [0, 1, 0, 1])
    assert np.allclose(np.abs(model.dual_coef_), 10.0)
    assert np.allclose(model.decision_function(x), 0.0, atol=1e-6)


def test_one_class_is_refused_by_its_name():
    with pytest.raises(ValueError, match="one class only \\('left'\\)"):
        KernelSVMClassifier().fit(sample(10), ["left"] * 10)


def test_several_labels_for_an_example_are_refused():
    with pytest.raises(ValueError, match="several columns"):
        KernelSVMClassifier().fit(sample(20), np.eye(2, dtype=int)[[0, 1] * 10])


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"C": -1.0}, "C must be a positive number"),
        ({"C": None}, "C must be a positive number"),
        ({"solver": SMO(tol=0.0)}, "tol must be a positive number"),
        ({"loss": "square"}, "no loss 'square'. Did you mean 'squared_hinge'"),
        ({"multiclass": "ovo"}, "no multiclass 'ovo'. Did you mean 'one_vs_one'"),
        ({"solver": SMO(max_steps=0)}, "max_steps must be a whole number"),
        ({"solver": SMO(cache="much")}, "cache must be a size in bytes.*'much'"),
    ],
)
def test_parameters_out_of_range_are_told(parameters, said):
    x, y = two_classes(30)
    with pytest.raises(ShallowsError, match=said):
        KernelSVMClassifier(**parameters).fit(x, y)


def test_a_kernel_that_is_not_positive_semi_definite_is_told():
    # Positive semi-definite on the first hundred rows, which is where a fit looks beforehand.
    x, y = two_classes(120)
    K = naive_kernel("gaussian", 1.0, x, x)
    K[110:, 110:] = 1.5 - 0.5 * np.eye(10)
    with pytest.raises(ShallowsError, match="not positive semi-definite"):
        KernelSVMClassifier("precomputed", C=1e3).fit(K, y)


def test_too_few_steps_warn_and_still_give_the_function_of_the_coefficients():
    x, y = two_classes()
    with pytest.warns(ConvergenceWarning, match="After 20 steps"):
        model = KernelSVMClassifier(solver=SMO(max_steps=20), bandwidth=1.0).fit(x, y)
    assert model.n_iter_ == 20
    expected = naive_kernel("gaussian", 1.0, x, x[model.support_]) @ model.dual_coef_[0] + model.intercept_[0]
    assert np.abs(model.decision_function(x) - expected).max() < 1e-6


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
    problem = DualProblem.of_classes(slab_of(x, 240), y, np.full(240, 2.0))
    state = train(SMOStepper(1e-6), problem, OwnRows(100), Stopping(10**6)).state
    beta, K = state.coefficients, naive_kernel("gaussian", 1.0, x, x)
    assert objective(problem, state) == pytest.approx(y @ beta - 0.5 * beta @ K @ beta, rel=1e-9)
    free = (np.abs(beta) > 0) & (np.abs(beta) < 2.0)
    assert intercept(problem, state) == pytest.approx((y - K @ beta)[free].mean(), abs=1e-9)
    bound = dataclasses.replace(state, coefficients=np.where(y > 0, 2.0, -2.0), gradient=np.where(y > 0, 3.0, 1.0))
    assert intercept(problem, bound) == 2.0  # between the smallest that may fall and the largest that may grow


def test_the_end_of_a_training_has_the_gradient_of_all_rows():
    x, y = sample(20), np.resize([1.0, -1.0], 20)
    problem = DualProblem.of_classes(
        KernelRowSlab(kernels.Gaussian(1.0), kernels.augmented(x), budget=20 * 20 * 8), y, np.ones(20)
    )
    state = DualState.start(problem)
    state.coefficients[:4] = 0.5 * y[:4]
    state.gradient[:10], state.active = problem.gradient(state.coefficients, np.arange(10)), np.arange(10)
    _, found = problem.ending(state)
    K, beta = naive_kernel("gaussian", 1.0, x, x), state.coefficients
    assert found == pytest.approx(y @ beta - 0.5 * beta @ K @ beta)
    assert state.gradient == pytest.approx(y - K @ beta, abs=1e-12)


def test_variables_come_back_before_they_are_shrunk_again_only_once_the_gap_is_small():
    x, y = sample(20), np.resize([1.0, -1.0], 20)
    for gap, n_reconstructions in ((2.0, 0), (1e-3, 1)):
        slab = KernelRowSlab(kernels.Gaussian(1.0), kernels.augmented(x), budget=20 * 20 * 8)
        problem = DualProblem.of_classes(slab, y, np.ones(20))
        state = DualState.start(problem)
        state.gradient[...] = 0.5 * gap * y
        state.active = np.arange(18)
        SMOStepper(1e-3)._shrink(problem, state)
        assert state.n_reconstructions == n_reconstructions


@parametrize_with_checks([KernelSVMClassifier(solver=SMO(tol=1e-10))])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)
