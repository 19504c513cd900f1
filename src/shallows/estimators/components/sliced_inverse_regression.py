"""Kernel sliced inverse regression by doubly stochastic gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from ...fitting.checks import check_median_bandwidth, width
from ...fitting.components import Labels, NotCoded, Values
from ...fitting.labels import refuse_missing_labels
from ...fitting.square_targets import unit_of_targets
from ...fitting.two_views import ComponentPairs
from ...solvers.components.two_view_state import TwoViewState
from ..constructors import with_parameters
from ..input_checks import read_points, to_host
from .component_estimator import ComponentEstimator
from .kernel_cca import CanonicalEstimator
from .two_view_estimator import FLOATS


class KernelSlicedInverseRegression(CanonicalEstimator):
    """Kernel sliced inverse regression: functions of X that keep what X says of y.

    A supervised reduction of dimension for a regression or a classification that follows. The functions span the top of
    the covariance of E[k(x, ·) | y] against that of k(x, ·), which is the space that kernel CCA between X and y finds
    (Kim and Pavlovic 2009); so it is computed, by doubly stochastic gradients, see `DoublyStochasticKernelCCA`. Instead
    of slices, y has a Gaussian kernel on its values, each column divided by its deviation. Words and whole numbers are
    labels, coded as ones and zeros.

    Parameters
    ----------
    n_components : int, default=2
        k.
    kernel : str or Kernel, default="gaussian"
        A shift-invariant kernel of `shallows.kernels`: "gaussian", "laplace", "cauchy", "matern", "laplace_product",
        "cauchy_product".
    bandwidth : float, "median" or None, default=None
        σ, in the units of the features. "median" and None take the median distance of a subsample (of the first rows of
        a stream).
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``.
    target_bandwidth : float, "median" or None, default=None
        σ of the kernel on y; "median" and None take the median distance.
    ridge : float, default=1e-4
        ρ, in units of k(x, x) = 1: what is added to the covariances. Choose it, as all parameters, by the error of the
        model that follows on examples that were held out.
    method : {"newton", "gradient", "printed"}, default="newton"
        The rule of the steps, as in `DoublyStochasticKernelCCA`.
    step_size : float, optional
        η₁, for "newton" a share of a whole step. None takes a half.
    decrease : float, default=0.02
        ρ in the steps η₁ / (1 + ρ (t − 1)).
    block_size : int, optional
        F, the frequencies of a block. None takes about 512, fewer where fewer than 5,120 points, of a stream those that
        the model is begun with, are at hand: there are five examples for every column of a block.
    max_features : int, optional
        The budget of random frequencies of X, and of y. None takes four times the number of points, at least 512 and at
        most 16,384.
    batch_size : int, optional
        B, the rows of a step. None takes 10 F, or 20 rows for each component if that is more. The batches of a stream
        are used as they come, small ones once that many rows are there; arrays that are handed to `partial_fit` are cut
        into slices of that size.
    orthogonal : bool, optional
        Whether the frequencies of a block are at right angles to each other, which lowers the variance. None means
        wherever the kernel allows it.
    n_iter, max_epochs : int, optional
        The most steps and the most passes over the data. If both are None, three passes and at least 200 steps.
    max_seconds : float, optional
        The most seconds of training.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: random features, the order of the rows and of the blocks. The same int gives
        the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32: sines and cosines of it are many times faster.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    correlations_ : ndarray, shape (n_components,), descending
        Of the functions of X with functions of y, in the training part (in the last batches of a stream).
    classes_ : ndarray
        The labels, if y holds some.
    dual_coef_ : ndarray, shape (n_blocks, width, n_components)
        Coefficients of the features of X, turned to the components.
    n_blocks_, n_revisits_, n_iter_, n_random_features_ : int
        Blocks in use, steps that moved an old one, steps, frequencies of X.
    bandwidth_ : float
        That of the kernel on X.
    effective_params_ : dict
        What was chosen and estimated.

    References
    ----------
    B. Xie, Y. Liang and L. Song (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS
    28. M. Kim and V. Pavlovic (2009), "Covariance operator based dimensionality reduction with extension to
    semi-supervised settings", AISTATS.
    """

    center = True

    __init__ = with_parameters(CanonicalEstimator.__init__, target_bandwidth=None)

    transform = ComponentEstimator.transform  # type: ignore[assignment]

    # ------------------------------------------------------------------------------------ the parts of a fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_median_bandwidth(self, "target_bandwidth")

    def _view_kernels(self) -> list[tuple[Any, float | None, dict[str, Any] | None]]:
        return [
            (self.kernel, width(self.bandwidth), self.kernel_params),
            ("gaussian", width(self.target_bandwidth), None),
        ]

    def _validated_views(self, X: Any, Y: Any, *, first: bool, least: int = 2) -> tuple[Any, ...]:
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        Y = to_host(Y)
        refuse_missing_labels(Y)
        X, y = validate_data(
            self,
            read_points(X),
            read_points(Y, None),
            accept_sparse="csr",
            dtype=FLOATS,
            multi_output=True,
            ensure_min_samples=least,
            reset=first,
        )
        return X, np.asarray(y)

    def _coding_of(self, Y: np.ndarray) -> Labels | Values:
        """Labels where y holds words or whole numbers, else values."""
        if Y.dtype.kind != "f":
            if Y.ndim > 1 and Y.shape[1] > 1:
                raise ValueError("Labels have one column; several columns of targets are values, of a float type.")
            return Labels(np.unique(Y.ravel()))
        Y = Y.reshape(len(Y), -1).astype(np.float64)
        unit = unit_of_targets(Y)
        scale = (Y / unit).std(axis=0) * unit
        return Values(np.where(scale > 0, scale, 1.0))

    def _first_coding(self, Y: np.ndarray) -> NotCoded:
        # Labels that are not among the first rows may come until a model is begun.
        return NotCoded()

    def _second_view(self, Y: Any, coding: Any) -> np.ndarray:
        if not isinstance(coding, Values):
            return np.asarray(Y)
        return check_array(read_points(Y, "y"), dtype=FLOATS, ensure_2d=False, input_name="y")

    def _describe(self, model: ComponentPairs, state: TwoViewState) -> None:
        super()._describe(model, state)
        vars(self).pop("classes_", None)
        if isinstance(model.plan.targets, Labels):
            self.classes_ = model.plan.targets.classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.one_d_labels = True
        return tags
