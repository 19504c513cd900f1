"""Kernel CCA by doubly stochastic gradients."""

from typing import ClassVar

from ...solvers.components.kernel_cca import TwoViewCCA
from ..constructors import with_parameters
from .two_view_estimator import TwoViewEstimator


class DoublyStochasticKernelCCA(TwoViewEstimator):
    """Kernel canonical correlation analysis by doubly stochastic gradients.

    Finds the functions of two views of the same examples with the largest correlations. They are sums of random Fourier
    features, as in `DoublyStochasticKernelPCA`. If the kernels can fit everything, training correlations mean nothing
    without a ridge.

    Parameters
    ----------
    second_kernel : str or Kernel, optional
        Kernel of the second view. None: the same kind, with its own bandwidth.
    second_bandwidth : float or "median", default="median"
        σ of the second view, as ``bandwidth``.
    center : bool, default=True
        Center the functions, as correlations do. The paper does not say.
    ridge : float, default=1e-4
        ρ, in units of k(x, x) = 1, added to the covariances. Choose it by the result on held-out examples.

    Attributes
    ----------
    correlations_ : ndarray, shape (n_components,), descending
        In the training data, or in the last batches of a stream.
    n_blocks_, n_revisits_, n_iter_ : int, and the other attributes of `DoublyStochasticKernelPCA`

    See Also
    --------
    DoublyStochasticKernelSVD : The largest covariances, without a ridge.
    shallows.solvers.TwoViewCCA : Its solver.

    References
    ----------
    B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.decomposition import DoublyStochasticKernelCCA
    >>> from shallows.solvers import TwoViewCCA
    >>> X = load_digits().data[:500]
    >>> model = DoublyStochasticKernelCCA(2, ridge=1e-3, solver=TwoViewCCA(n_iter=50), random_state=0)
    >>> model = model.fit(X[:, :32], X[:, 32:])
    >>> bool(model.correlations_[0] > 0.8)
    True
    """

    __init__ = with_parameters(
        TwoViewEstimator.__init__,
        ridge=1e-4,
        second_kernel=None,
        second_bandwidth="median",
        center=True,
    )

    _strengths = "correlations_"
    _named: ClassVar = {**TwoViewEstimator._named, "solver": {"auto": TwoViewCCA, "two_view_cca": TwoViewCCA}}
