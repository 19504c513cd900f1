"""Kernel SVD of two views by doubly stochastic gradients."""

from __future__ import annotations

from ...fitting.kernel_components import KernelComponents
from ...solvers.components.kernel_svd import TwoViewSVD
from ...solvers.components.two_view_state import TwoViewState
from ...utils.checks import check_choice
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
    second_bandwidth : float, "median" or None, default=None
        σ of the second view, as ``bandwidth``.
    second_kernel_params : dict, optional
        Parameters of ``second_kernel``.
    center : bool, default=False
        Center the functions: covariances instead of mean products.
    scaling : {"singular values", None}, default="singular values"
        "singular values": divide steps by running estimates, so that all converge equally fast. None: the printed rule.
    decrease : float, optional
        ρ in the steps η₁ / (1 + ρ (t − 1)). None: by the gap after the last value, see the method guide.

    Attributes
    ----------
    singular_values_ : ndarray, shape (n_components,), descending
    dual_coef_ : ndarray, shape (n_blocks, width, n_components)
        Coefficients of the features of the first view, rotated to the components.
    n_blocks_, n_revisits_, n_iter_, n_random_features_ : int
        Blocks, steps on old blocks, all steps, frequencies of a view.
    bandwidth_ : float
    effective_params_ : dict
        Chosen and estimated values.

    References
    ----------
    B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.
    """

    __init__ = with_parameters(
        TwoViewEstimator.__init__,
        second_kernel=None,
        second_bandwidth=None,
        second_kernel_params=None,
        center=False,
        scaling="singular values",
        decrease=None,
    )

    _solver = TwoViewSVD

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, scaling=("singular values", None))

    def _describe(self, model: KernelComponents, state: TwoViewState) -> None:
        super()._describe(model, state)
        self.singular_values_ = model.strengths
