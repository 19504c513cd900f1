"""Kernel CCA by doubly stochastic gradients."""

from __future__ import annotations

from typing import Any

from ...fitting.checks import check_choice
from ...fitting.two_views import ComponentPairs
from ...solvers.components.kernel_cca import TwoViewCCA
from ...solvers.components.two_view_state import TwoViewState
from ..constructors import with_parameters
from .two_view_estimator import TwoViewEstimator

METHODS = ("newton", "gradient", "printed")
"""Rules of the steps, see `DoublyStochasticKernelCCA`."""


class CanonicalEstimator(TwoViewEstimator):
    """Base of the estimators whose functions are those of kernel CCA, by one of its `METHODS`."""

    __init__ = with_parameters(TwoViewEstimator.__init__, ridge=1e-4, method="newton", decrease=0.02)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, method=METHODS)

    def _settings(self) -> TwoViewCCA:
        return TwoViewCCA(method=self.method, ridge=self.ridge, **self._step_parameters())

    def _chosen(self) -> dict[str, Any]:
        return {"method": self.method, "ridge": float(self.ridge)}

    def _describe(self, model: ComponentPairs, state: TwoViewState) -> None:
        super()._describe(model, state)
        self.correlations_ = model.strengths


class DoublyStochasticKernelCCA(CanonicalEstimator):
    """Kernel canonical correlation analysis by doubly stochastic gradients.

    Finds functions of two views of the same examples that are correlated most. They are sums of random Fourier features
    of the kernels, which gain a block in every step; see `DoublyStochasticKernelPCA`. With a kernel that can fit
    anything, correlations of the training part mean nothing without a ridge: choose it by the correlations of examples
    that were held out.

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
    second_kernel : str or Kernel, optional
        That of the second view; None takes the same kind, with a bandwidth of its own.
    second_bandwidth : float, "median" or None, default=None
        σ of the second view, as ``bandwidth``.
    second_kernel_params : dict, optional
        Further parameters of ``second_kernel``.
    center : bool, default=True
        Whether the functions are centred, as correlations are. The paper does not say.
    ridge : float, default=1e-4
        ρ, in units of k(x, x) = 1: what is added to the covariance of either view.
    method : {"newton", "gradient", "printed"}, default="newton"
        "newton" takes in every block the step of the regression of one view's functions on the other view's features;
        "gradient" is the rule of Algorithm 4, made safe where it would grow, and "printed" the rule as it stands there,
        with the mean of a batch for its W. Either has a ridge, which is not printed; 0 leaves it out.
    step_size : float, optional
        η₁. None takes a half, which is the share of a whole step for "newton" and stable for the others.
    decrease : float, default=0.02
        ρ in the steps η₁ / (1 + ρ (t − 1)).
    block_size : int, optional
        F, the frequencies of a block. None takes about 512, fewer where fewer than 5,120 points, of a stream those that
        the model is begun with, are at hand: there are five examples for every column of a block.
    max_features : int, optional
        The budget of random frequencies in each view. None takes four times the number of points, at least 512 and at
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
        Of the canonical variables in the training part (in the last batches of a stream).
    dual_coef_ : ndarray, shape (n_blocks, width, n_components)
        Coefficients of the features of the first view, turned to the components.
    n_blocks_, n_revisits_, n_iter_, n_random_features_ : int
        Blocks in use, steps that moved an old one, steps, frequencies of a view.
    bandwidth_ : float
        That of the first view.
    effective_params_ : dict
        What was chosen and estimated.

    References
    ----------
    B. Xie, Y. Liang and L. Song (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS
    28.
    """

    __init__ = with_parameters(
        CanonicalEstimator.__init__, second_kernel=None, second_bandwidth=None, second_kernel_params=None, center=True
    )
