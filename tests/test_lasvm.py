"""LASVM: the optimum after a few passes, examples one after the other, and streams."""

import numpy as np
import pytest
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from engine_example import naive_kernel
from kernel_svm_example import coefficients_of, dual_objective, two_classes
from resumed_example import stopped_at_every_batch
from shallows import KernelSVMClassifier, kernels
from shallows.errors import ShallowsError
from shallows.solvers import LASVM
from shallows.solvers.support_vectors.lasvm import ExampleProblem, LASVMStepper
from shallows.training import Batches, Stopping, train


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
