"""The scikit-learn face of the solvers, in four families by what is sought and what the function is made of.

`least_squares`
    The square loss over the functions of a kernel or of explicit features: EigenPro and its variants, kernel stochastic
    gradient descent, exact kernel ridge regression.
`regularised`
    Any loss with a regulariser, for a fixed kernel or feature map: Pegasos, NORMA, SDCA, SVRG, SAG.
`doubly_stochastic`
    Any loss, for a function that gains random features step by step.
`components`
    Nonlinear components, in functions that gain random features step by step: kernel PCA, SVD, CCA and sliced
    inverse regression.

All share `base` (checked data, seeds, memory), `snapshot` (a model in the middle of its training), `centring` (training
points as the solvers take them), `kernel_checks`, `label_checks` and `parameter_checks`.

A fit that fails, on bad input or by Ctrl-C, leaves the model that was there before it. A stream leaves the model of the
batches that it has taken in.
"""

from .components import (
    DoublyStochasticKernelCCA,
    DoublyStochasticKernelPCA,
    DoublyStochasticKernelSVD,
    KernelSlicedInverseRegression,
)
from .doubly_stochastic import DoublyStochasticClassifier, DoublyStochasticNoveltyDetector, DoublyStochasticRegressor
from .least_squares import (
    EigenProCentresClassifier,
    EigenProCentresRegressor,
    EigenProClassifier,
    EigenProRegressor,
    ExactKernelRidgeClassifier,
    ExactKernelRidgeRegressor,
    FeatureEigenProClassifier,
    FeatureEigenProRegressor,
    KernelSGDClassifier,
    KernelSGDRegressor,
)
from .regularised import (
    NORMAClassifier,
    NORMARegressor,
    PegasosClassifier,
    SAGClassifier,
    SAGRegressor,
    SDCAClassifier,
    SDCARegressor,
    SVRGClassifier,
    SVRGRegressor,
)

__all__ = [
    "DoublyStochasticClassifier",
    "DoublyStochasticKernelCCA",
    "DoublyStochasticKernelPCA",
    "DoublyStochasticKernelSVD",
    "DoublyStochasticNoveltyDetector",
    "DoublyStochasticRegressor",
    "EigenProCentresClassifier",
    "EigenProCentresRegressor",
    "EigenProClassifier",
    "EigenProRegressor",
    "ExactKernelRidgeClassifier",
    "ExactKernelRidgeRegressor",
    "FeatureEigenProClassifier",
    "FeatureEigenProRegressor",
    "KernelSGDClassifier",
    "KernelSGDRegressor",
    "KernelSlicedInverseRegression",
    "NORMAClassifier",
    "NORMARegressor",
    "PegasosClassifier",
    "SAGClassifier",
    "SAGRegressor",
    "SDCAClassifier",
    "SDCARegressor",
    "SVRGClassifier",
    "SVRGRegressor",
]
