"""Kernel SVD of two views by doubly stochastic gradients."""

from typing import ClassVar

from ...solvers.components.kernel_svd import TwoViewSVD
from ..constructors import with_parameters
from .two_view_estimator import TwoViewEstimator


class DoublyStochasticKernelSVD(TwoViewEstimator):
    """Kernel SVD by doubly stochastic gradients: the functions of two views with the largest covariance.

    Finds the top pairs of singular functions of E[k(x, ·) ⊗ k'(y, ·)] over joint examples (x, y). Of all functions of
    unit norm in the spaces of the two kernels, they have the largest mean product. They are sums of random Fourier
    features, as in `DoublyStochasticKernelPCA`. The views may have different features.

    Parameters
    ----------
    second_kernel : str or Kernel, optional
        Kernel of the second view. None: the same kind, with its own bandwidth.
    second_bandwidth : float or "median", default="median"
        σ of the second view, as ``bandwidth``.
    center : bool, default=False
        Center the functions: covariances instead of mean products.

    Attributes
    ----------
    singular_values_ : ndarray, shape (n_components,), descending
    n_blocks_, n_revisits_, n_iter_ : int, and the other attributes of `DoublyStochasticKernelPCA`

    See Also
    --------
    DoublyStochasticKernelCCA : The largest correlations instead of the largest covariances.
    shallows.solvers.TwoViewSVD : Its solver.

    References
    ----------
    B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.decomposition import DoublyStochasticKernelSVD
    >>> X = load_digits().data[:500]
    >>> left, right = X[:, :32], X[:, 32:]
    >>> DoublyStochasticKernelSVD(2, random_state=0).fit(left, right).transform(left).shape
    (500, 2)
    """

    __init__ = with_parameters(
        TwoViewEstimator.__init__,
        second_kernel=None,
        second_bandwidth="median",
        center=False,
    )

    _strengths = "singular_values_"
    _named: ClassVar = {**TwoViewEstimator._named, "solver": {"auto": TwoViewSVD, "two_view_svd": TwoViewSVD}}
