"""One table of what estimators refuse, with a part of what they say. Wrong kinds are in test_estimators_refusals."""

import numpy as np
import pytest
from sklearn.base import is_classifier

import shallows
from engine_example import sample
from shallows import DoublyStochasticClassifier as DSG
from shallows import (
    FeatureRidgeClassifier,
    KernelRidgeRegressor,
    LinearSVMClassifier,
    Options,
    kernels,
    losses,
    solvers,
)
from shallows import RegularizedRiskClassifier as Risk
from shallows import kernel_approximation as maps
from shallows.decomposition import DoublyStochasticKernelPCA
from shallows.errors import ShallowsError
from shallows.gaussian_process import FeatureGaussianProcessRegressor
from shallows.kernel_approximation import FourierFeatures, HiddenUnits, NystroemFeatures, SparseRandomFeatures
from shallows.solvers import DoublyStochastic, EigenPro
from shallows.svm import (
    AMMClassifier,
    BudgetedSVMClassifier,
    CoreVectorMachineRegressor,
    DoublyStochasticNoveltyDetector,
    LowRankLinearizedSVMClassifier,
    RandomKitchenSinksRegressor,
)

KERNEL_RIDGE = [
    ({"solver": "eigenpro", "centers": 20}, "has all points as centers.*'projected_eigenpro'"),
    ({"solver": "projected_eigenpro", "centers": None}, "needs centers"),
    ({"solver": "kernel_sgd", "alpha": 0.1}, "has no ridge term"),
    ({"solver": "cholesky", "early_stopping": True}, "solves all at once"),
    ({"solver": EigenPro(eigensystem="rsvd")}, "has no certificate for step='certified'"),
    ({"solver": EigenPro}, r"is a class\. Give an object: solver=EigenPro\(\)"),
    ({"solver": "sdca"}, "solver of KernelRidgeRegressor 'sdca'"),
    ({"solver": {"eigenpro": {"rank": 3}}}, "or an object of shallows.solvers, got"),
    ({"solver": EigenPro(step="exat")}, "There is no step 'exat'. Did you mean 'exact'"),
    ({"solver": "gaussian"}, "There is no solver 'gaussian'. It is a kernel: kernel='gaussian'"),
    ({"kernel": "eigenpro"}, "There is no kernel 'eigenpro'. It is a solver: solver='eigenpro'"),
    ({"kernel": "chi2"}, r"no kernel 'chi2'\. Known: .*laplacian, .*poly, .*rbf\."),
    ({"kernel": "cosine"}, r"It is the kernel 'linear' on rows of length one.*Normalizer\(\)"),
    ({"kernel": kernels.Gaussian}, r"kernel=Gaussian is a class\. Give an object.* kernel=Gaussian\(\)"),
    ({"kernel": kernels.Gaussian(5.0), "bandwidth": "median"}, "own bandwidth, so bandwidth='median' would be ignored"),
    ({"bandwidth": None}, "bandwidth must be"),
]
LINEAR = [
    ({"solver": "linear_pegasos", "loss": "squared_hinge"}, "bounded slopes"),
    ({"solver": "primal_newton", "loss": "hinge"}, "needs gradients"),
    ({"loss": "logistic"}, "not 'logistic': that one is for 'lbfgs'"),
    ({"solver": "lbfgs", "loss": "hinge"}, "takes the loss 'squared_hinge' or 'logistic', not 'hinge'"),
    ({"solver": solvers.LinearPegasos(averaging="mean")}, "averaging must be"),
    ({"solver": solvers.SDCA()}, "LinearSVMClassifier cannot use the solver SDCA. Its solvers are"),
    ({"regularization": 0.0}, "regularization must be a positive number or 'auto', got 0.0"),
    ({"options": Options(device="gpu")}, "runs on the CPU only, got device='gpu'"),
]
ON_FEATURES = [
    ({"features": HiddenUnits("relu")}, "activation 'relu'"),
    (
        {"solver": solvers.NormalEquations(form="primal")},
        "form must be one of 'auto', 'features', 'rows', got 'primal'",
    ),
    ({"features": "fuorier"}, "feature map 'fuorier'"),
    ({"features": 3}, "a name, such as 'fourier', or a transformer"),
    ({"alpha": 0, "solver": "normal_equations"}, "alpha=0 cannot be used with solver='normal_equations'"),
    (
        {"calibration": "auto", "solver": "normal_equations"},
        r"calibration='auto' cannot be used .* Use solver='feature_eigenpro'",
    ),
]
SETTINGS = [
    (DoublyStochastic(reuse="sgd"), "reuse must be one of 'fresh', UniformReuse"),
    (DoublyStochastic(schedule="slow"), "schedule must be one of 'auto', 'line_search', 'constant', DecayingStep.*got"),
    (
        DoublyStochastic(preconditioning="full"),
        "preconditioning must be one of 'auto', 'block', 'decoupled', None, got",
    ),
    (DoublyStochastic(schedule=solvers.TheoryStep(theta_nu=-1.0)), "theta_nu must be a positive number"),
    (DoublyStochastic(reuse=solvers.CheckedReuse(cap=0.5)), "cap must be a number of at least 1"),
    (DoublyStochastic(reuse=solvers.UniformReuse(fresh=0)), "fresh must be a whole number of at least 1"),
    (DoublyStochastic(reuse=solvers.UniformReuse(reused=-1)), "reused must be a whole number of at least 0"),
]
NOVELTY = [
    (DoublyStochastic(schedule="constant"), "schedule must be TheoryStep"),
    (DoublyStochastic(preconditioning="block"), "preconditioning must be None for novelty"),
    (DoublyStochastic(step_size=0.1), "step_size must be None for novelty"),
]
REFUSED = [
    *((KernelRidgeRegressor(**given), words) for given, words in KERNEL_RIDGE),
    *((LinearSVMClassifier(**given), words) for given, words in LINEAR),
    *((FeatureRidgeClassifier(**given), words) for given, words in ON_FEATURES),
    *((DSG(solver=solver), words) for solver, words in SETTINGS),
    *((DoublyStochasticNoveltyDetector(solver=solver), words) for solver, words in NOVELTY),
    (DoublyStochasticNoveltyDetector(fraction=0.0), r"fraction .* must be a number in \(0, 1\]"),
    (DSG("heat_circle"), "'heat_circle' draws no random features"),
    (
        DSG(solver=DoublyStochastic(schedule="theory_step"), regularization=0.0),
        "regularization, which must be positive",
    ),
    (DSG(loss="huber"), "not for classes.*: hinge, logistic"),
    (shallows.DoublyStochasticRegressor(loss="hinge"), "not for numbers.*: epsilon_insensitive, huber"),
    (Risk(solver=solvers.LBFGS()), "cannot use the solver LBFGS. Its solvers are"),
    (Risk(bandwidth=1.0, features=NystroemFeatures(bandwidth=2.0)), "NystroemFeatures has its own bandwidth, 2.0, and"),
    (Risk(bandwidth="median", features=NystroemFeatures(kernels.Gaussian(2.0))), "2.0, and bandwidth='median' of"),
    (Risk(loss="softmax"), "does not take the loss 'softmax'"),
    (Risk(loss="hings"), "no loss 'hings'. Did you mean 'hinge'"),
    (Risk(loss="novelty"), "not a loss for .*: 'square', 'hinge', 'squared_hinge', 'logistic', 'softmax'"),
    (shallows.RegularizedRiskRegressor(loss=losses.Huber), r"loss=Huber is a class\. Give an object: loss=Huber\(\)"),
    (Risk(solver="pegasos", loss="square"), "bounded slopes"),
    (Risk(solver="svrg", features="fourier", loss="hinge"), "need a smooth loss"),
    (Risk(solver="svrg", features=None), "works on explicit features"),
    (RandomKitchenSinksRegressor(HiddenUnits("multiquadric")), "bounded"),
    (RandomKitchenSinksRegressor(HiddenUnits(n_units=(5, 5))), "one layer"),
    (RandomKitchenSinksRegressor("fourier"), "features must be 'hidden_units' or HiddenUnits"),
    (RandomKitchenSinksRegressor(bound=None), "^bound must be a positive number, got None"),
    (shallows.KernelSVMClassifier(C=0), "^C must be a positive number, got 0"),
    (CoreVectorMachineRegressor(epsilon=0), "^epsilon must be a positive number, got 0"),
    (BudgetedSVMClassifier(maintenance="forgetting"), "maintenance must be one of .*forgetting"),
    (BudgetedSVMClassifier(line_search="bisection"), "line_search must be one of .*bisection"),
    (BudgetedSVMClassifier(0), "budget must be a whole number of at least 1"),
    (AMMClassifier(n_hyperplanes=0), "n_hyperplanes must be a whole number"),
    (LowRankLinearizedSVMClassifier(0), "budget must be a whole number of at least 1"),
    (LowRankLinearizedSVMClassifier(loss="log"), "no loss 'log'. Known: hinge, squared_hinge"),
    (LowRankLinearizedSVMClassifier(landmarks="all"), "Known: kmeans, leverage"),
    (LowRankLinearizedSVMClassifier(options=Options(max_seconds=9)), "max_seconds has no effect"),
    (FeatureGaussianProcessRegressor(options=Options(max_seconds=9)), "max_seconds has no effect"),
    (RandomKitchenSinksRegressor(options=Options(max_seconds=9)), "max_seconds has no effect"),
    (SparseRandomFeatures(options=Options(max_seconds=9)), "max_seconds has no effect"),
    (DoublyStochasticKernelPCA(bandwidth="auto"), "a positive number or 'median', the median distance, got 'auto'"),
    (DoublyStochasticKernelPCA(kernel="linear"), "no frequencies"),
    (DoublyStochasticKernelPCA(solver="feature_oja"), "no solver of DoublyStochasticKernelPCA 'feature_oja'"),
    (DoublyStochasticKernelPCA(solver=solvers.TwoViewSVD()), "cannot use the solver TwoViewSVD"),
    (DoublyStochasticKernelPCA(solver=solvers.Oja(method="qr")), "method must be one of 'subspace', 'individual', got"),
    (DoublyStochasticKernelPCA(options={"dtype": "float64"}), "options must be shallows.Options"),
    (FourierFeatures(bandwidth=None), "a positive number, 'auto' or 'median', got None"),
    (FourierFeatures("polynomial"), "or NystroemFeatures"),
    (FourierFeatures(form="cosine", orthogonal=True), "Known: pair"),
    (NystroemFeatures(100), r"first parameter is the kernel, got 100\. .* NystroemFeatures\(n_features=100\)"),
    (NystroemFeatures(landmarks="random"), "Known: kmeans, leverage, pivoted, randomly_pivoted, sample"),
    (NystroemFeatures(n_features=0), "n_features must be a whole number of at least 1, got 0"),
    (maps.Fastfood("laplace_product"), "of ‖x − z‖₂ alone"),
    (maps.Fastfood(form="tan"), "Known: cosine, pair"),
    (maps.QuasiMonteCarloFeatures("polynomial"), "no frequencies"),
    (maps.RandomBinning(n_bins=100), "power of two"),
    (maps.TensorSketch(degree=0), "degree must be a whole number"),
    (maps.RBFNetwork(landmarks="random"), "Known: kmeans, sample"),
    (HiddenUnits("relu"), "Known: cosine, gaussian, hard_limit"),
    (HiddenUnits(n_units=(20, 0)), "n_units must be a whole number of at least 1, or several"),
    (maps.SemiRandomFeatures(order=3), "order must be 0, 1 or 2"),
    (maps.PolynomialFeatures(degree=12, scale=1e-3), "too many to be written out"),
    (maps.ExtremeLearningMachineAutoencoder(activation="gaussian"), "Known: cosine, hard_limit, sigmoid, tanh"),
    (maps.ExtremeLearningMachineAutoencoder(alpha=0.0), "alpha must be a positive number, got 0.0"),
    (maps.ExtremeLearningMachineAutoencoder(penalty="elastic"), "no penalty 'elastic'. Known: l1, l2"),
    (maps.ExtremeLearningMachineAutoencoder(penalty="l1", alpha=1e6), "every weight is zero: use a smaller alpha"),
    (maps.ExtremeLearningMachineAutoencoder(n_units=10**9), "Weights of 1,000,000,000 units"),
]


@pytest.mark.parametrize(("model", "words"), REFUSED, ids=str)
def test_a_wrong_parameter_is_refused_with_what_to_do(model, words):
    X = sample(60, 30)
    with pytest.raises(ShallowsError, match=words):
        model.fit(X, X[:, 0] > 0 if is_classifier(model) else np.sin(X[:, 0]))
