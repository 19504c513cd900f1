"""Kernel PCA by doubly stochastic gradients."""

from typing import ClassVar

from ...solvers.components.oja import Oja
from ..constructors import with_parameters
from .component_estimator import ComponentEstimator


class DoublyStochasticKernelPCA(ComponentEstimator):
    """Kernel PCA by doubly stochastic gradients, for data whose kernel matrix does not fit into memory.

    The components are sums of random Fourier features of the kernel. Oja's rule moves them, and every step adds a block
    of features. At the solver's ``max_features``, steps revisit old blocks. Features are generated from a seed when
    they are needed. Memory grows with their number only, and data may be a stream (`partial_fit`).

    Parameters
    ----------
    center : bool, default=True
        Center the functions in the space of the kernel, as `sklearn.decomposition.KernelPCA` does. The paper does not.

    Attributes
    ----------
    eigenvalues_ : ndarray, shape (n_components,)
        Of the kernel matrix divided by the number of rows, descending; scikit-learn's `KernelPCA` does not divide.
    dual_coef_ : ndarray, shape (n_blocks, width, n_components), rotated to the components
    n_blocks_, n_revisits_, n_iter_, n_random_features_ : int
    bandwidth_ : float
    report_ : dict

    See Also
    --------
    FeatureKernelPCA : On a fixed number of features: faster, with an error that the features limit.
    shallows.solvers.Oja : Its solver.

    References
    ----------
    B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.decomposition import DoublyStochasticKernelPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> DoublyStochasticKernelPCA(3, random_state=0).fit_transform(X).shape
    (1797, 3)
    """

    _strengths = "eigenvalues_"
    _named: ClassVar = {**ComponentEstimator._named, "solver": {"auto": Oja, "oja": Oja}}

    __init__ = with_parameters(ComponentEstimator.__init__, center=True)
