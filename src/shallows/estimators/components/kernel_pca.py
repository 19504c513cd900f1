"""Kernel PCA by doubly stochastic gradients."""

from __future__ import annotations

from ...fitting.kernel_components import KernelComponents
from ...solvers.components.oja import ComponentState, Oja
from ...utils.checks import check_choice
from ..constructors import with_parameters
from .component_estimator import ComponentEstimator


class DoublyStochasticKernelPCA(ComponentEstimator):
    """Kernel PCA by doubly stochastic gradients, for data whose kernel matrix does not fit into memory.

    The components are sums of random Fourier features of the kernel. Oja's rule moves them, and every step adds a block
    of features. When ``max_features`` is reached, steps revisit old blocks. Features are generated from a seed when
    they are needed. Memory grows with their number only, and data may be a stream (`partial_fit`).

    Parameters
    ----------
    center : bool, default=True
        Center the functions in the space of the kernel, as `sklearn.decomposition.KernelPCA` does. The paper does not.
    method : {"subspace", "individual"}, default="subspace"
        "subspace": Oja's rule for the span, rotated at the end. "individual": the generalized Hebbian rule.
    scaling : {"eigenvalues", None}, default="eigenvalues"
        "eigenvalues": divide steps by running estimates, so that all converge equally fast. None: the printed rule.
    decrease : float, optional
        ρ in the steps η₁ / (1 + ρ (t − 1)). None: by the gap after the last component, see the method guide.

    Attributes
    ----------
    eigenvalues_ : ndarray, shape (n_components,)
        Of the kernel matrix divided by the number of rows, descending; scikit-learn's `KernelPCA` does not divide.
    dual_coef_ : ndarray, shape (n_blocks, width, n_components)
        Coefficients of the features, rotated to the components.
    n_blocks_, n_revisits_, n_iter_, n_random_features_ : int
        Blocks, steps on old blocks, all steps, frequencies.
    bandwidth_ : float
    effective_params_ : dict
        Chosen and estimated values.

    References
    ----------
    B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.
    """

    _solver = Oja

    __init__ = with_parameters(
        ComponentEstimator.__init__, center=True, method="subspace", scaling="eigenvalues", decrease=None
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, method=("subspace", "individual"), scaling=("eigenvalues", None))

    def _describe(self, model: KernelComponents, state: ComponentState) -> None:
        super()._describe(model, state)
        self.eigenvalues_ = model.strengths
