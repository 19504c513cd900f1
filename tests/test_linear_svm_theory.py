"""Analyses of linear solvers: the optimum they are compared with, the points that are made, and exponents."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from linear_svm_example import optimum as exact
from linear_svm_example import points
from shallows_papers.papers.claim_functions import slope
from shallows_papers.papers.lecture.linear_svm.convergence import convergence
from shallows_papers.papers.lecture.linear_svm.exact import SOLVERS, generated, optimum, problem_of
from shallows_papers.papers.lecture.linear_svm.orders import (
    interior_point,
    iterations_needed,
    orders_of_solver,
    steps_to_error,
)


def data(sparse=False):
    X, y = points(n=900)
    X = scipy.sparse.csr_array(X) if sparse else X
    y = (y > 0).astype(int)
    return SimpleNamespace(x_train=X[:600], y_train=y[:600], x_test=X[600:], y_test=y[600:])


def test_the_optimum_lies_in_its_bracket_and_is_that_of_liblinear():
    X, y = points()
    problem = problem_of(X, y, 1e-3)
    w, value, bound = optimum(problem, 1e-7)
    of_liblinear = problem.objective(exact(problem, X))
    assert bound <= of_liblinear * (1 + 1e-12)
    assert of_liblinear <= value * (1 + 1e-12)
    assert value - bound <= 1e-7 * value
    assert value == pytest.approx(problem.objective(w), rel=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "newton"])
def test_every_solver_comes_near_the_optimum_pass_by_pass(solver, sparse):
    found = convergence(data(sparse), solver=solver, regularisation=1e-2, passes=(1, 10, 100))
    assert list(found.index) == [1, 10, 100]
    assert found.curve["suboptimality"][-1] < 0.01
    assert found.curve["suboptimality"][-1] <= found.curve["suboptimality"][0]
    assert 0 < found.curve["cost"][0] < found.curve["cost"][-1]
    assert found.curve["test_error"][-1] == pytest.approx(found.numbers["optimal_error"], abs=2)
    assert found.numbers["gap"] <= 1e-5
    assert found.numbers["cost_to_target"] in found.curve["cost"]


def test_made_points_that_are_turned_keep_inner_products_and_labels():
    (one, y), (other, z) = (generated(200, d, 3, intrinsic=10) for d in (20, 50))
    assert one.shape == (200, 20)
    assert other.shape == (200, 50)
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-12)
    assert (y == z).all()
    np.testing.assert_allclose((one**2).sum(axis=1), 1.0)
    X, _ = generated(100, 400, 0, n_values=30)
    assert (np.diff(X.indptr) == 30).all()
    assert all(len(np.unique(X[[i], :].indices)) == 30 for i in range(100))


def test_iterations_do_not_depend_on_the_inputs_but_their_products_do():
    found = iterations_needed(along="d", sizes=[10, 20, 40], n=1000, repetitions=2)
    assert len(set(found.curve["iterations"])) == 1
    assert slope(dict(zip(found.index, found.curve["values"], strict=True))) == pytest.approx(1.0)


def test_more_accuracy_takes_more_iterations_and_less_regularisation_too():
    for along, sizes in (("inverse_accuracy", [20, 100]), ("inverse_regularisation", [100, 1000])):
        few, many = iterations_needed(along=along, sizes=sizes, n=1000, repetitions=3).curve["iterations"]
        assert few < many < 10 * few


def test_more_examples_take_fewer_iterations_to_an_error():
    found = steps_to_error(sizes=(1000, 8000), regularisations=(1e-3, 3e-3), n_test=4000, repetitions=3)
    few, many = found.curve["iterations"]
    assert many < few < np.inf
    assert found.numbers["target_error"] == pytest.approx(found.numbers["rule_error"] + 2)


def test_the_interior_point_method_ends_at_the_optimum():
    X, y = points(n=120)
    problem = problem_of(X, y, 1e-2)
    C = 1 / (problem.regularization * 120)
    Q = (X * y[:, None]) @ (X * y[:, None]).T
    a, iterations = interior_point(Q, C, 1e-9)
    assert iterations < 30
    assert a.min() > 0
    assert a.max() < C
    assert problem.objective((a * y) @ X) == pytest.approx(problem.objective(exact(problem, X)), rel=1e-7)
    assert interior_point(Q, C, 1e-2)[1] < iterations


@pytest.mark.parametrize("solver", ["pegasos", "folos", "dual_coordinate_descent", "bmrm", "ocas"])
def test_orders_are_measured_to_the_accuracy_that_is_asked_for(solver):
    found = orders_of_solver(solver=solver, along="inverse_accuracy", sizes=[30, 300], n=500, rounds=1)
    few, many = found.curve["iterations"]
    assert 1 <= few <= many
    assert all(
        total == pytest.approx(n * s)
        for total, n, s in zip(found.curve["total"], found.curve["iterations"], found.curve["seconds"], strict=True)
    )


def test_kernel_solvers_have_their_own_numbers():
    found = orders_of_solver(solver="smo", along="n", sizes=[100, 200], rounds=1)
    assert set(found.curve) == {"total"}
    found = orders_of_solver(solver="interior_point", along="n", sizes=[50, 100], rounds=1)
    assert found.curve["bytes"] == [8 * 50**2, 8 * 100**2]
