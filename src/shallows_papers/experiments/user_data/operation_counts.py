"""The operations that a fitted model took and takes, by formulas: unlike seconds, two runs on the same data agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# A multiplication in a product of matrices counts as this part of an operation: processors do many of them at once.
_IN_PRODUCTS = 1 / 16
# Splits from the root of a tree of scikit-learn's gradient boosting to one of its 31 leaves, about.
_DEPTH = 5


@dataclass(frozen=True)
class _Sizes:
    """Training rows, test rows and features (of sparse rows, those that are not zero), and the size of the model."""

    n: int
    n_test: int
    d: float
    width: int  # points of an expansion, or features, or coefficients of a linear model
    outputs: int
    made: float  # operations that make the features or the kernel values of one row


def count_operations(estimator: Any, x_train: Any, x_test: Any, model_numbers: float) -> float:
    """Operations that fit a model and predict the test rows: a rough count, of the order of the work.

    ``model_numbers`` is how many numbers the model keeps. A method without a formula counts as one pass over the rows
    with all of them.
    """
    at = _sizes(estimator, x_train, x_test)
    name = type(estimator).__name__.removesuffix("Classifier").removesuffix("Regressor")
    of_a_row = _IN_PRODUCTS * (at.made + at.width * at.outputs)
    if name in _BY_PRODUCTS:
        fit = _IN_PRODUCTS * _BY_PRODUCTS[name](estimator, at)
    elif name in _BY_ROWS:
        fit = _BY_ROWS[name](estimator, at)
    elif name == "HistGradientBoosting":
        of_a_row = estimator.n_iter_ * estimator.n_trees_per_iteration_ * _DEPTH
        fit = at.n * at.d * of_a_row
    elif name == "KNeighbors":
        fit, of_a_row = at.n * at.d, _IN_PRODUCTS * at.n * at.d
    else:
        fit, of_a_row = at.n * model_numbers, model_numbers
    return float(fit + at.n_test * of_a_row)


def _sizes(estimator: Any, x_train: Any, x_test: Any) -> _Sizes:
    n, n_test = x_train.shape[0], x_test.shape[0]
    d = x_train.nnz / n if hasattr(x_train, "nnz") else x_train.shape[1]
    is_linear = False
    if hasattr(estimator, "dual_coef_"):
        places = (getattr(estimator, name, None) for name in ("support_vectors_", "support_", "X_fit_"))
        points = next((one for one in places if one is not None), estimator.dual_coef_)
        width = max(1, points.shape[0])
        # A support vector machine for pairs of classes has more machines than rows of coefficients.
        outputs = max(1, np.size(getattr(estimator, "objectives_", ())) or np.size(estimator.dual_coef_) // width)
    elif hasattr(estimator, "n_random_features_"):
        width = estimator.n_random_features_
        outputs = max(2, len(getattr(estimator, "classes_", ()))) - 1
    else:
        coef = np.atleast_2d(getattr(estimator, "coef_", np.zeros((1, 1))))
        outputs, width = coef.shape
        features = getattr(estimator, "report_", {}).get("features")
        is_linear = not (hasattr(estimator, "transformer_") or features)
    return _Sizes(n, n_test, d, width, outputs, 0.0 if is_linear else width * d)


def _iterations(estimator: Any) -> float:
    return float(np.sum(estimator.n_iter_ if estimator.n_iter_ is not None else 1))


def _epochs(estimator: Any, at: _Sizes) -> float:
    """Kernel values are made once, and multiplied in every epoch; a preconditioner has an eigensystem."""
    chosen = estimator.report_
    eigensystem = chosen.get("n_subsample", 0) ** 2 * (at.d + chosen.get("rank", 0))
    return at.n * at.made + _iterations(estimator) * at.n * at.width * at.outputs + eigensystem


def _kernel_ridge(estimator: Any, at: _Sizes) -> float:
    """A factorization of the whole matrix, which scikit-learn's class makes too, or epochs."""
    chosen = getattr(estimator, "report_", {"solver": "cholesky"})
    return at.n * at.made + at.n**3 / 3 if chosen.get("solver") == "cholesky" else _epochs(estimator, at)


def _feature_epochs(estimator: Any, at: _Sizes) -> float:
    """Features are made again for every batch."""
    rank = estimator.report_.get("rank", 0)
    return _iterations(estimator) * at.n * (at.made + at.width * (at.outputs + rank))


def _feature_ridge(estimator: Any, at: _Sizes) -> float:
    """Epochs of EigenPro, or a system of equations."""
    in_epochs = hasattr(estimator, "losses_")
    return _feature_epochs(estimator, at) if in_epochs else at.n * at.made + _solved(at.n, at.width)


def _iterations_on_features(estimator: Any, at: _Sizes) -> float:
    """Features are made once; landmarks have a matrix of their own to factor."""
    landmarks = at.width**2 * at.n if type(estimator).__name__.startswith("LowRank") else 0
    return at.n * at.made + landmarks + _iterations(estimator) * at.n * at.width * at.outputs


def _solved(n: int, width: float) -> float:
    """Products of the smaller side of a matrix of n rows, and their factorisation."""
    small = min(n, width)
    return n * width * small + small**3 / 3


def _growing(estimator: Any, at: _Sizes) -> float:
    """Each step evaluates the blocks so far on its batch, and solves a system of its own block."""
    steps, blocks = _iterations(estimator), estimator.n_blocks_
    batch, block = estimator.batch_size_, estimator.block_size_
    evaluated = batch * block * (at.d + at.outputs) * max(steps * blocks - blocks**2 / 2, 1)
    return evaluated + steps * _solved(batch, block)


def _chosen_rows(estimator: Any, at: _Sizes) -> float:
    return estimator.n_kernel_evaluations_ * at.d + _iterations(estimator) * at.n


def _libsvm(estimator: Any, at: _Sizes) -> float:
    """LIBSVM makes a row of the kernel matrix when it is first needed, and changes the gradient in every step."""
    steps = _iterations(estimator)
    return min(steps, at.n) * at.n * at.d + steps * at.n


#: Multiplications of a fit by products of matrices, by the name of a class without Classifier and Regressor.
_BY_PRODUCTS: dict[str, Callable[[Any, _Sizes], float]] = {
    "RegularizedRisk": _feature_epochs,
    "DoublyStochastic": _growing,
    "FeatureRidge": _feature_ridge,
    "RandomKitchenSinks": _iterations_on_features,
    "LowRankLinearizedSVM": _iterations_on_features,
    "KernelRidge": _kernel_ridge,
    "Ridge": lambda estimator, at: _solved(at.n, at.d),
}
#: Operations of a fit that goes from row to row.
_BY_ROWS: dict[str, Callable[[Any, _Sizes], float]] = {
    "SVC": _libsvm,
    "SVR": _libsvm,
    "KernelSVM": _chosen_rows,
    "CoreVectorMachine": _chosen_rows,
    "BudgetedSVM": lambda estimator, at: estimator.n_steps_ * at.made,
    "AMM": lambda estimator, at: estimator.n_steps_ * at.d * at.outputs,
    "LinearSVM": lambda estimator, at: _iterations(estimator) * at.n * at.d * at.outputs,
}
