"""The scikit-learn face of the solvers, in families by what is sought and what the function is made of.

`least_squares`
    The square loss over the functions of a kernel or of explicit features: EigenPro and its variants, kernel stochastic
    gradient descent, kernel ridge regression by one of three solvers.
`regularised`
    Any loss with a regulariser, for a fixed kernel or feature map, by one of six solvers: SDCA, Pegasos, NORMA, SAG,
    SAGA, SVRG.
`linear_svm`
    Linear support vector machines on dense or sparse rows, by nine methods.
`support_vectors`
    Support vector machines in their dual variables, whose solvers choose the rows that they use: SMO, SVM-light's
    decomposition, LASVM, core vector machines; interior points and Newton's method on the whole kernel matrix.
`budgeted`
    Machines of bounded size: budgets of support vectors, of hyperplanes for each class, and of landmarks.
`doubly_stochastic`
    Any loss, for a function that gains random features step by step.
`components`
    Nonlinear components, in functions that gain random features step by step: kernel PCA, SVD, CCA and sliced
    inverse regression; kernel PCA on a fixed number of features, by one of four rules.
`closed_forms`
    Least squares on explicit features, solved at once or block by block: any feature map (hidden units for extreme
    learning machines), kitchen sinks, Gaussian processes.
`feature_maps`
    Transformers of points to explicit features of a kernel, for pipelines.

All share `base` (checked data, seeds, memory). What a fit does is a function in `shallows.fitting`, and what it leaves
is a model in `shallows.models`.

What users of scikit-learn look for:

*failed fits*
    A fit that fails, on bad input or by Ctrl-C, leaves the model that was there before it. A stream leaves the model of
    the batches that it has taken in.
*n_jobs*
    There is none. A fit and a prediction take as many threads as the BLAS has, which ``OMP_NUM_THREADS`` or
    ``threadpoolctl.threadpool_limits`` sets. `GridSearchCV` and its like may run several fits at once with their own
    ``n_jobs``: in processes, joblib gives each its share of the cores; in threads, set the number of the BLAS to the
    cores divided by ``n_jobs``. Models do not depend on what runs beside them.
*warm_start, tol, early_stopping*
    EigenPro and its variants, kernel SGD and regularised risks have all three. Kernel ridge regression starts warm from
    its coefficients, also with another regularisation; its tolerance is that of the residual, and there is nothing to
    stop early. Doubly stochastic
    gradients, and those machines that take their data row by row, go on by ``partial_fit``. A warm start takes the seed
    of the fit before it again where ``random_state`` is None.
*random_state*
    With None every fit draws a new seed from NumPy's global generator; an int gives the same model every time.
*saving*
    `shallows.save` and `shallows.load`, without pickle.
*array libraries*
    Arrays of CuPy and others of the array API standard are taken, see `array_inputs`.
*sparse rows*
    ``fit`` and ``predict`` take CSR matrices everywhere. NaN and infinity are refused. Rows with at least 1,000 columns
    and at most 5 % of non-zeros stay sparse, on a CPU, in methods of a kernel of distances or inner products and with
    the features "nystrom" and "rbf". Other methods make blocks of rows dense, up to half of the free memory, and refuse
    such rows with more than 20,000 columns; a ``TruncatedSVD`` before them makes fewer.
*scaling*
    Points are centred where that changes no value of the kernel, and never divided by their deviation: put a
    ``StandardScaler`` before, where features have different units. A fit warns if the spread of a column is over 1,000
    times the median spread and the kernel has one bandwidth for all columns.
*probabilities*
    ``predict_proba`` of least squares, ridge regression and kitchen sinks; of regularised risks and doubly stochastic
    gradients with the losses "logistic" and "softmax". Support vector machines, linear and budgeted machines have
    ``decision_function`` alone; ``CalibratedClassifierCV`` makes probabilities of it. Where the inputs tell nothing of
    the classes, all of them are the class frequencies.
*fit_intercept*
    Functions are learnt about an intercept that is not regularised, the constant score with the least loss. Classifiers
    that calibrate their outputs need none, nor do budgeted machines have one; that of linear and of low-rank machines
    is regularised, that of support vector machines is trained. Regressors always have one.
*sample_weight*
    Of least squares and ridge regression: factors of the squared errors in their sum, so that ten times the weights
    are a tenth of λ. Of support vector machines: factors of C. Of regularised risks, linear, budgeted and doubly
    stochastic machines: only their ratios count in ``fit``. Rows of weight zero are left out. ``class_weight``
    multiplies them.
*several labels, kernels*
    Several labels for each example in least squares, ridge regression and kitchen sinks, and in regularised
    risks and doubly stochastic gradients with a loss that treats each label alone; support vector machines and
    budgeted machines go into ``sklearn.multiclass.OneVsRestClassifier``. ``kernel="precomputed"`` where the values of
    the kernel are enough.
"""

from __future__ import annotations

from typing import Any

from ..utils.lazy_tables import LazyTable

ESTIMATORS = LazyTable(
    "estimator",
    __name__,
    {
        "AMMClassifier": ".budgeted.adaptive_multi_hyperplane",
        "BudgetedSVMClassifier": ".budgeted.budgeted_svm",
        "CoreVectorMachineClassifier": ".support_vectors.core_vector_machine",
        "CoreVectorMachineRegressor": ".support_vectors.core_vector_machine",
        "DoublyStochasticClassifier": ".doubly_stochastic.dsg_classifier",
        "DoublyStochasticKernelCCA": ".components.kernel_cca",
        "DoublyStochasticKernelPCA": ".components.kernel_pca",
        "DoublyStochasticKernelSVD": ".components.kernel_svd",
        "DoublyStochasticNoveltyDetector": ".doubly_stochastic.dsg_novelty_detector",
        "DoublyStochasticRegressor": ".doubly_stochastic.dsg_regressor",
        "EigenProCentresClassifier": ".least_squares.eigenpro_centres",
        "EigenProCentresRegressor": ".least_squares.eigenpro_centres",
        "EigenProClassifier": ".least_squares.eigenpro",
        "EigenProRegressor": ".least_squares.eigenpro",
        "ExtremeLearningMachineAutoencoder": ".closed_forms.extreme_learning_machine_autoencoder",
        "Fastfood": ".feature_maps.fastfood",
        "FeatureEigenProClassifier": ".least_squares.feature_eigenpro",
        "FeatureEigenProRegressor": ".least_squares.feature_eigenpro",
        "FeatureGaussianProcessRegressor": ".closed_forms.feature_gaussian_process",
        "FeatureKernelPCA": ".components.feature_kernel_pca",
        "FeatureRidgeClassifier": ".closed_forms.feature_ridge",
        "FeatureRidgeRegressor": ".closed_forms.feature_ridge",
        "FourierFeatures": ".feature_maps.fourier",
        "HiddenUnits": ".feature_maps.random_units",
        "KernelRidgeClassifier": ".least_squares.kernel_ridge",
        "KernelRidgeRegressor": ".least_squares.kernel_ridge",
        "KernelSGDClassifier": ".least_squares.kernel_sgd",
        "KernelSGDRegressor": ".least_squares.kernel_sgd",
        "KernelSVMClassifier": ".support_vectors.kernel_svm",
        "KernelSlicedInverseRegression": ".components.sliced_inverse_regression",
        "LASVMClassifier": ".support_vectors.lasvm",
        "LinearSVMClassifier": ".linear_svm.linear_svm_classifier",
        "LowRankLinearizedSVMClassifier": ".budgeted.low_rank_svm",
        "NystroemFeatures": ".feature_maps.landmarks",
        "PolynomialFeatures": ".feature_maps.monomials",
        "QuasiMonteCarloFeatures": ".feature_maps.quasi_monte_carlo",
        "RBFNetwork": ".feature_maps.landmarks",
        "RandomBinning": ".feature_maps.random_binning",
        "RandomKitchenSinksClassifier": ".closed_forms.kitchen_sinks",
        "RandomKitchenSinksRegressor": ".closed_forms.kitchen_sinks",
        "RegularisedRiskClassifier": ".regularised.regularised_risk",
        "RegularisedRiskRegressor": ".regularised.regularised_risk",
        "SemiRandomFeatures": ".feature_maps.random_units",
        "SparseRandomFeatures": ".feature_maps.sparse_random_features",
        "TensorSketch": ".feature_maps.tensor_sketch",
    },
)
"""Every estimator by its name."""

__all__ = [*ESTIMATORS]


def __getattr__(name: str) -> Any:
    return ESTIMATORS.attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)
