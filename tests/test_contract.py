"""scikit-learn's own checks, once for each way to fit; the solver of docs/extending.md has them in its own file."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shallows import (
    DoublyStochasticClassifier,
    FeatureRidgeClassifier,
    FeatureRidgeRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    KernelSVMClassifier,
    LinearSVMClassifier,
    RegularizedRiskClassifier,
)
from shallows.decomposition import DoublyStochasticKernelCCA, DoublyStochasticKernelPCA, FeatureKernelPCA
from shallows.gaussian_process import FeatureGaussianProcessRegressor
from shallows.kernel_approximation import (
    ExtremeLearningMachineAutoencoder,
    FourierFeatures,
    HiddenUnits,
    NystroemFeatures,
    PartialWhitening,
    RandomBinning,
    SparseRandomFeatures,
)
from shallows.solvers import SMO, DoublyStochastic, FeatureBlockDescent, FeatureOja, Oja, TwoViewCCA
from shallows.svm import (
    AMMClassifier,
    BudgetedSVMClassifier,
    CoreVectorMachineRegressor,
    DoublyStochasticNoveltyDetector,
    LowRankLinearizedSVMClassifier,
    RandomKitchenSinksClassifier,
)

MEDIAN = "the rows' median distance and means, which the features start from, are not weighted"
STEPS = "a weight and a repetition make other steps, as scikit-learn says of SGD"

# Why a row of weight 2 is not the same as two equal rows, or None where it is.
QUICK = [
    (KernelRidgeClassifier(random_state=0), None),
    (KernelRidgeClassifier(solver="eigenpro", random_state=0), None),
    (KernelRidgeRegressor(solver="eigenpro", random_state=0), None),
    (KernelRidgeRegressor(solver="nystrom_conjugate_gradients", random_state=0), None),
    (
        FeatureRidgeClassifier(
            FourierFeatures(n_features=50),
            solver="feature_eigenpro",
            calibration="auto",
            fit_intercept=False,
            random_state=0,
        ),
        None,
    ),
    (FeatureRidgeClassifier(FourierFeatures(n_features=20), solver=FeatureBlockDescent(block_size=10)), MEDIAN),
    (FeatureRidgeRegressor(RandomBinning(n_grids=5, n_bins=256)), MEDIAN),
    (
        FeatureGaussianProcessRegressor(features=NystroemFeatures(n_features=10), random_state=0),
        "two equal rows show by their difference how large the noise is, and one row of weight 2 does not",
    ),
    (KernelSVMClassifier(solver=SMO(tol=1e-10)), None),
    (CoreVectorMachineRegressor(), None),
    (AMMClassifier(random_state=0), STEPS),
    (BudgetedSVMClassifier(random_state=0), STEPS),
    (LowRankLinearizedSVMClassifier(), "other rows are other means, as scikit-learn says of K-means"),
    (
        RandomKitchenSinksClassifier(features=HiddenUnits("cosine", n_units=20)),
        "the rows' median distance, which the units start from, is not weighted",
    ),
    (DoublyStochasticKernelPCA(solver=Oja(n_iter=20), random_state=0), None),
    (FeatureKernelPCA(solver=FeatureOja(n_iter=20), random_state=0), None),
    (DoublyStochasticKernelCCA(1, solver=TwoViewCCA(n_iter=3, max_features=64), random_state=0), None),
    # The other feature maps derive from the same base; the features of binning are sparse.
    (FourierFeatures(), None),
    (NystroemFeatures(), None),
    (RandomBinning(n_grids=30, random_state=0), None),
    (SparseRandomFeatures(block_size=10, n_iter=2, regularization=1e-3, random_state=0), None),
    (ExtremeLearningMachineAutoencoder(n_units=5, penalty="l1", alpha=0.001, random_state=0), None),
    (PartialWhitening(rank=2, random_state=0), None),
]
SLOW = [
    (LinearSVMClassifier(solver="linear_pegasos"), "a method of steps is not at its solution to seven digits"),
    (DoublyStochasticClassifier(solver=DoublyStochastic(n_iter=20)), None),
    (DoublyStochasticNoveltyDetector(solver=DoublyStochastic(n_iter=20)), None),
    # The others differ in what they hand to their solver.
    (
        RegularizedRiskClassifier(solver="norma"),
        "a weight and a repetition make other batches, and some epochs of them do not end at the same function",
    ),
]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def each_check(cases):
    """The checks of each estimator, where those of weights are expected to fail for a reason."""
    reasons = {id(estimator): reason for estimator, reason in cases}

    def expected_failures(estimator):
        reason = reasons[id(estimator)]
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse") if reason}

    return parametrize_with_checks([estimator for estimator, _ in cases], expected_failed_checks=expected_failures)


@each_check(QUICK)
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


@pytest.mark.slow
@each_check(SLOW)
def test_scikit_learns_contract_holds_for_solvers_of_many_steps(estimator, check):
    check(estimator)
