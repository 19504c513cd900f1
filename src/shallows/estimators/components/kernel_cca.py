"""Kernel CCA by doubly stochastic gradients."""

from __future__ import annotations

from ...fitting.kernel_components import KernelComponents
from ...solvers.components.kernel_cca import TwoViewCCA
from ...solvers.components.two_view_state import TwoViewState
from ...utils.checks import check_choice
from ..constructors import with_parameters
from .two_view_estimator import METHODS, TwoViewEstimator


class DoublyStochasticKernelCCA(TwoViewEstimator):
    """Kernel canonical correlation analysis by doubly stochastic gradients.

    Finds the functions of two views of the same examples with the largest correlations. They are sums of random Fourier
    features, as in `DoublyStochasticKernelPCA`. If the kernels can fit everything, training correlations mean nothing
    without a ridge.

    Parameters
    ----------
    second_kernel : str or Kernel, optional
        Kernel of the second view. None: the same kind, with its own bandwidth.
    second_bandwidth : float, "median" or None, default=None
        σ of the second view, as ``bandwidth``.
    second_kernel_params : dict, optional
        Parameters of ``second_kernel``.
    center : bool, default=True
        Center the functions, as correlations do. The paper does not say.
    ridge : float, default=1e-4
        ρ, in units of k(x, x) = 1, added to the covariances. Choose it by the result on held-out examples.
    method : {"newton", "gradient", "printed"}, default="newton"
        "newton": regress one view's functions on the other view's block. "gradient": Algorithm 4, limited where it
        would grow. "printed": Algorithm 4 with W from one batch. The ridge is not in the paper (0: none).
    decrease : float, default=0.02
        ρ in the steps η₁ / (1 + ρ (t − 1)). With "newton" η₁ is a share of a whole step.

    Attributes
    ----------
    correlations_ : ndarray, shape (n_components,), descending
        Canonical correlations in the training data, or in the last batches of a stream.
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
        ridge=1e-4,
        method="newton",
        decrease=0.02,
        second_kernel=None,
        second_bandwidth=None,
        second_kernel_params=None,
        center=True,
    )

    _solver = TwoViewCCA

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, method=METHODS)

    def _describe(self, model: KernelComponents, state: TwoViewState) -> None:
        super()._describe(model, state)
        self.correlations_ = model.strengths
