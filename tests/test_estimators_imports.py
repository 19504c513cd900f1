"""What each estimator's module reaches by its imports: the code that its results depend on."""

import importlib

import grimp
import pytest

from shallows import estimators

STREAMED = {f"expansions.{name}" for name in ("doubly_stochastic", "block_policies", "expansion")}

SOLVERS = {
    "AMMClassifier": {"budgeted.multi_hyperplane"},
    "BudgetedSVMClassifier": {"budgeted.budgeted_sgd"},
    "CoreVectorMachineClassifier": {"support_vectors.core_vectors"},
    "DoublyStochasticClassifier": STREAMED,
    "DoublyStochasticKernelCCA": {"components.kernel_cca"},
    "DoublyStochasticKernelPCA": {"components.oja"},
    "DoublyStochasticKernelSVD": {"components.kernel_svd"},
    "DoublyStochasticNoveltyDetector": STREAMED,
    "DoublyStochasticRegressor": STREAMED,
    "FeatureKernelPCA": {"feature_components.problem", "feature_components"},
    "FeatureRidgeClassifier": {"least_squares.feature_eigenpro"},
    "KernelRidgeClassifier": {"least_squares.projected"},
    "KernelSVMClassifier": {"support_vectors"},
    "RegularizedRiskClassifier": {"regularized.risk"},
}
"""The solvers that one method alone, or one family, has; what several share is left out."""


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("shallows", "shallows_papers", cache_dir=None)


@pytest.mark.parametrize("name", SOLVERS)
def test_an_estimator_reaches_its_own_solvers_and_those_of_no_other_method(graph, name):
    module = importlib.import_module(getattr(estimators, name).__module__).__name__
    reached = graph.find_upstream_modules(module)
    others = set().union(*SOLVERS.values()) - SOLVERS[name]
    assert {f"shallows.solvers.{solver}" for solver in SOLVERS[name]} <= reached
    assert not {f"shallows.solvers.{solver}" for solver in others} & reached
    # The other families, and the other methods of this family.
    methods = {getattr(estimators, other).__module__ for other in estimators.__all__}
    assert not (methods - {module}) & reached
