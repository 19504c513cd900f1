"""Kernel sliced inverse regression by doubly stochastic gradients."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from ... import kernels
from ...arrays.user_arrays import read_points, to_host
from ...fitting.components import Labels, NotCoded, ViewColumns
from ...fitting.kernel_components import KernelComponents
from ...fitting.rows import refuse_missing_labels
from ...fitting.square_targets import unit_of_targets
from ...fitting.stream_training import Batch
from ...solvers.components.kernel_cca import TwoViewCCA
from ...solvers.components.two_view_state import TwoViewState
from ..constructors import with_parameters
from .component_estimator import FLOATS, ComponentEstimator
from .two_view_estimator import TwoViewEstimator


class KernelSlicedInverseRegression(TwoViewEstimator):
    """Kernel sliced inverse regression: functions of X that keep what X says about y.

    A supervised reduction of the dimension. The functions span the top of the covariance of E[k(x, ·) | y] relative to
    the covariance of k(x, ·). Kernel CCA between X and y finds this space (Kim and Pavlovic 2009), so it is computed as
    in `DoublyStochasticKernelCCA`, without slices: values of y have a Gaussian kernel, each column divided by its
    standard deviation; words and whole numbers are labels, coded as ones and zeros.

    Parameters
    ----------
    target_bandwidth : float or "median", default="median"
        σ of the kernel on y. "median": the median distance.
    ridge : float, default=1e-4
        ρ, in units of k(x, x) = 1, added to the covariances. Choose it by the result on held-out examples.

    Attributes
    ----------
    correlations_ : ndarray, shape (n_components,), descending
        Of functions of X with functions of y, in the training data or in the last batches of a stream.
    classes_ : ndarray, the labels, if y has labels
    n_blocks_, n_revisits_, n_iter_ : int, and the other attributes of `DoublyStochasticKernelPCA`

    See Also
    --------
    shallows.solvers.TwoViewCCA : Its solver.

    References
    ----------
    B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28. M. Kim and
    V. Pavlovic (2009), "Covariance operator based dimensionality reduction with extension to semi-supervised
    settings", AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.decomposition import KernelSlicedInverseRegression
    >>> from shallows.solvers import TwoViewCCA
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelSlicedInverseRegression(3, ridge=1e-3, solver=TwoViewCCA(n_iter=50), random_state=0)
    >>> model.fit_transform(X[:500], y[:500]).shape
    (500, 3)
    """

    center, _strengths = True, "correlations_"

    __init__ = with_parameters(TwoViewEstimator.__init__, ridge=1e-4, target_bandwidth="median")

    _named: ClassVar = {**ComponentEstimator._named, "solver": {"auto": TwoViewCCA, "two_view_cca": TwoViewCCA}}

    transform = ComponentEstimator.transform  # type: ignore[assignment]

    def _view_kernels(self) -> list[kernels.Kernel]:
        return [kernels.make(self.kernel, self.bandwidth), kernels.make("gaussian", self.target_bandwidth)]

    def _check_views(self, X: Any, y: Any, *, first: bool, least: int = 2) -> Batch:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = to_host(y)
        refuse_missing_labels(y)
        X, y = validate_data(
            self,
            read_points(X),
            read_points(y, None),
            accept_sparse="csr",
            dtype=FLOATS,
            multi_output=True,
            ensure_min_samples=least,
            reset=first,
        )
        return X, np.asarray(y)

    def _learn_coding(self, Y: np.ndarray) -> Labels | ViewColumns:
        """Labels if y has words or whole numbers, otherwise values."""
        if Y.dtype.kind != "f":
            if Y.ndim > 1 and Y.shape[1] > 1:
                raise ValueError("Labels have one column; several columns of targets are values, of a float type.")
            return Labels(np.unique(Y.ravel()))
        Y = Y.reshape(len(Y), -1).astype(np.float64)
        unit = unit_of_targets(Y)
        scale = (Y / unit).std(axis=0) * unit
        return ViewColumns("y", len(scale), np.where(scale > 0, scale, 1.0))

    def _learn_coding_of_batch(self, Y: np.ndarray) -> NotCoded:
        return NotCoded()  # Until a model begins, further labels may come.

    def _second_view(self, Y: Any, coding: Any) -> np.ndarray:
        if not isinstance(coding, ViewColumns):
            return np.asarray(Y)
        return check_array(read_points(Y, "y"), dtype=FLOATS, ensure_2d=False, input_name="y")

    def _describe(self, model: KernelComponents, state: TwoViewState) -> None:
        super()._describe(model, state)
        self._forget("classes_")
        if isinstance(model.plan.targets, Labels):
            self.classes_ = model.plan.targets.classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.one_d_labels = True
        return tags
