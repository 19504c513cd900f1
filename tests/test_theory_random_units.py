"""The analyses of random features, random units and polynomials, against closed forms and exact solutions."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

from engine_example import sample
from shallows_papers.papers.lecture.random_units import (
    approximation,
    block_averaging,
    kitchen_sinks,
    learning_machines,
    multinomial,
    polynomials,
    semi_random,
)


def data(n=400, d=3, classes=False):
    x, new = sample(n, d), sample(200, d, seed=7)
    truth = lambda x: np.sin(2 * x[:, 0]) + x[:, 1]  # noqa: E731
    y, y_new = truth(x), truth(new)
    if classes:
        y, y_new = (np.where(one > 0, 1, 0) for one in (y, y_new))
    return SimpleNamespace(x_train=x, y_train=y, x_test=new, y_test=y_new)


def test_the_error_of_pairs_is_that_of_their_variance():
    found = approximation.approximation_error(data(), sizes=[100, 400], bandwidth=1.5, n_points=100, repeats=40)
    x = sample(400, 3)
    # The variance is, per frequency, ½(1 + k(2Δ)) − k(Δ)², and D/2 frequencies; the mean over pairs of a like sample.
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)[~np.eye(400, dtype=bool)]
    k, k2 = np.exp(-squared / 4.5), np.exp(-4 * squared / 4.5)
    for size, rms in zip([100, 400], found.curve["kernel_rms"], strict=True):
        assert rms == pytest.approx(math.sqrt((0.5 * (1 + k2) - k**2).mean() / (size / 2)), rel=0.15)
    assert all(large >= rms for large, rms in zip(found.curve["kernel_max"], found.curve["kernel_rms"], strict=True))


def test_both_forms_of_the_learning_machine_agree_and_more_units_leave_less():
    found = learning_machines.learning_machines(data(), sizes=[4, 300], n_points=200, rounds=1).curve
    assert max(found["difference"]) < 1e-6
    assert found["residual"][1] < 0.5 * found["residual"][0] < 0.5
    assert min(found["time"]) > 0


def test_the_fit_in_a_box_is_that_of_a_solver_for_bounded_least_squares():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(60, 12)), rng.normal(size=60)
    free = np.linalg.lstsq(Z, y, rcond=None)[0]
    bound = 0.5 * np.abs(free).max()
    found = kitchen_sinks.fit_in_box(Z, y, bound)
    assert np.abs(found - scipy.optimize.lsq_linear(Z, y, (-bound, bound), tol=1e-12).x).max() < 1e-5
    assert np.abs(found).max() == pytest.approx(bound)
    assert np.abs(kitchen_sinks.fit_in_box(Z, y, 100.0) - free).max() < 1e-5


def test_training_the_first_layer_lowers_the_risk_of_few_units():
    found = kitchen_sinks.kitchen_sinks(data(), sizes=[4, 64], n_points=400, C=50.0).curve
    assert found["trained_risk"][0] < found["risk"][0]
    assert found["risk"][1] < found["risk"][0]
    assert found["bound"][1] == pytest.approx(1.0)  # many units reach the bound of their weights


def test_the_gradient_of_both_layers_is_that_of_differences():
    x, y = sample(30, 2), np.random.default_rng(1).normal(size=30)
    w, b = np.random.default_rng(2).normal(size=(3, 2)), np.zeros(3)
    alpha, w, b = kitchen_sinks.fit_both_layers(x, y, w, b, 2000)

    def risk(packed):
        return np.mean((np.cos(x @ packed[3:9].reshape(3, 2).T + packed[9:]) @ packed[:3] - y) ** 2)

    # At the end of the training hardly a direction lowers the risk, as one would with a gradient that is wrong.
    end = np.concatenate([alpha, w.ravel(), b])
    slopes = scipy.optimize.approx_fprime(end, risk, 1e-6)
    assert np.abs(slopes).max() < 5e-3
    assert np.abs(scipy.optimize.approx_fprime(end + 0.1, risk, 1e-6)).max() > 2e-2


def test_monomials_are_as_many_as_the_formula_says_and_the_printed_ones_miss_the_kernel():
    found = polynomials.number_of_features(degrees=[1, 2, 3], n_inputs=4, offset=2.0)
    assert found.curve["columns"] == [5, 15, 35]
    assert found.curve["formula"] == pytest.approx([5, 15, 35])
    assert max(found.curve["difference"]) < 1e-13
    # √2 c xᵢ instead of √(2c) xᵢ: off by (2c² − 2c) xᵀz, and not at all for c = 1.
    assert found.numbers["printed_difference"] > 0.01
    assert polynomials.number_of_features(degrees=[2], offset=1.0).numbers["printed_difference"] < 1e-13


def test_both_polynomial_machines_learn_the_quadratic_form():
    found = polynomials.against_kernel_machine(sizes=[300, 1200], n_inputs=3, rounds=1).curve
    assert max(found["error_features"][1], found["error_kernel"][1]) < 25  # half by chance, and noise of 0.3 deviations
    assert all(time > 0 for time in found["time"])


def test_semi_random_features_learn_two_classes_with_few_units():
    found = semi_random.by_units(data(600, 2, classes=True), sizes=[2, 8]).curve
    assert set(found) == {"semi_random", "semi_random_double", "net", "random", "linear"}
    assert found["semi_random"][1] < 15
    assert found["linear"][0] == found["linear"][1]
    assert found["semi_random_double"][1] < 15


def test_averages_are_those_of_machines_that_are_trained_by_hand():
    from shallows import DoublyStochasticClassifier, Options, streams
    from shallows.solvers import DoublyStochastic

    given = data(classes=True)
    options = {"bandwidth": 1.0, "block_size": 8, "batch_size": 50, "max_epochs": 2}
    found = block_averaging.by_machines(given, machines=[1, 2], share=0.25, **options).curve
    outputs, alike = [], []
    for machine, seed, kept in [(0, 0, outputs), (1, 1, outputs), (0, 0, alike), (1, 0, alike)]:
        rows = streams.permutation(0, "data of machines", machine, 400)[:100]
        model = DoublyStochasticClassifier(
            bandwidth=options["bandwidth"],
            regularization=1e-4,
            solver=DoublyStochastic(block_size=8, batch_size=50, max_epochs=2),
            fit_intercept=False,
            random_state=seed,
            options=Options(device="cpu"),
        )
        model.fit(given.x_train[rows].astype(np.float32), given.y_train[rows])
        kept.append(model.decision_function(given.x_test.astype(np.float32)))
    missed = lambda values: 100 * np.mean((values > 0) != given.y_test)  # noqa: E731
    assert found["error"] == pytest.approx([(missed(outputs[0]) + missed(outputs[1])) / 2, missed(sum(outputs))])
    assert found["one_machine"][0] == pytest.approx(missed(outputs[0]))
    assert found["same_blocks"][1] == pytest.approx(missed(sum(alike)))
    assert found["sent"] == [1, 2]


def test_softmax_regression_on_many_features_is_the_kernel_machine_and_labels_are_told_apart():
    given = data(n=300, classes=True)
    found = multinomial.beside_nets(given, sizes=[4, 400], n_points=300).curve
    assert found["features"][1] < 8 < found["features"][0]  # four columns do not hold two waves
    assert found["net"][0] == found["net"][1] < 15
    given.y_train = np.random.default_rng(0).permutation(given.y_train)
    assert multinomial.beside_nets(given, sizes=[400], n_points=300).curve["features"][0] > 25
