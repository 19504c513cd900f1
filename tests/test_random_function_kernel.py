"""The worked example of a kernel that has random functions and no formula."""

from dataclasses import dataclass

import numpy as np
import pytest

from engine_example import sample
from example_random_function_kernel import HalfSpaces
from shallows import DoublyStochasticClassifier, KernelRidgeClassifier, kernels
from shallows.errors import ShallowsError
from shallows.kernels import Kernel


def angle_formula(x, z, bias):
    """1 − 2θ/π with the angle θ of (x, b) and (z, b): the closed form, which the example does not use."""
    x, z = (np.column_stack([part, np.full(len(part), bias)]) for part in (x, z))
    cosines = x @ z.T / np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(z, axis=1)[None, :]
    return 1.0 - 2.0 * np.arccos(np.clip(cosines, -1.0, 1.0)) / np.pi


def test_its_values_are_unbiased_and_positive_semidefinite():
    x, z = sample(40, 3), sample(30, 3, seed=1)
    kernel = HalfSpaces(n_functions=40_000, bias=0.7)
    # Five standard errors of a mean of numbers between −1 and 1.
    assert np.abs(kernel(x, z) - angle_formula(x, z, 0.7)).max() < 5 / np.sqrt(40_000)
    assert np.linalg.eigvalsh(HalfSpaces(n_functions=20)(x, x)).min() > -1e-12


def test_values_in_blocks_are_those_of_the_whole():
    x, kernel = sample(40, 3), HalfSpaces(n_functions=50)
    assert np.allclose(np.concatenate([kernel(x[:7], x), kernel(x[7:], x)]), kernel(x, x), rtol=0, atol=1e-14)
    assert np.allclose(kernel.diagonal(x), np.diagonal(kernel(x, x)))


@pytest.mark.parametrize("machine", [DoublyStochasticClassifier, KernelRidgeClassifier])
def test_machines_learn_with_it(machine):
    X, Z = sample(600, 3), sample(400, 3, seed=1)
    model = machine(kernel=HalfSpaces(), random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    assert model.score(Z, Z[:, 0] * Z[:, 1] > 0) > 0.85


def test_a_fit_takes_functions_of_its_own_seed():
    X = sample(300, 3)
    model = DoublyStochasticClassifier(kernel=HalfSpaces(n_functions=500), random_state=0).fit(X, X[:, 0] > 0)
    assert model.report_["n_random_features"] > 500


def test_functions_without_values_are_refused_with_what_to_do():
    @dataclass(frozen=True)
    class Incomplete(Kernel):
        name = "incomplete"

        def random_features(self, *given):
            raise AssertionError("not reached")

    with pytest.raises(ShallowsError, match="RandomFunctionKernel"):
        kernels.make(Incomplete())


@pytest.mark.parametrize("n_functions", [0, 1.5])
def test_a_wrong_number_of_functions_is_refused(n_functions):
    with pytest.raises(ShallowsError, match="n_functions"):
        HalfSpaces(n_functions)
