"""Kernel SVD of two views by doubly stochastic gradients."""

from __future__ import annotations

from typing import Any

from ...fitting.checks import check_choice
from ...fitting.two_views import ComponentPairs
from ...solvers.components.kernel_svd import TwoViewSVD
from ...solvers.components.two_view_state import TwoViewState
from ..constructors import with_parameters
from .two_view_estimator import TwoViewEstimator


class DoublyStochasticKernelSVD(TwoViewEstimator):
    """Kernel SVD by doubly stochastic gradients: the functions of two views with the largest covariance.

    The top pairs of singular functions of E[k(x, ·) ⊗ k'(y, ·)] over joint examples (x, y): of all functions of unit
    norm in the spaces of the two kernels, those whose values have the largest mean product. They are sums of random
    Fourier features, which gain a block in every step; see `DoublyStochasticKernelPCA`. The views need not have the
    same features.

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
    center : bool, default=False
        Whether the functions are centred: covariances in place of mean products.
    scaling : {"singular values", None}, default="singular values"
        "singular values" divides a step by the running estimate of them, so that small ones converge as fast as large
        ones and a step is a share of a whole one; None is the rule as it is printed, made safe where it would grow.
    step_size : float, optional
        η₁. None takes a half, or with scaling=None half of the inverse of the largest singular value.
    decrease : float, optional
        ρ in the steps η₁ / (1 + ρ (t − 1)). None takes the ρ for which they tend to c/t with c twice the inverse of the
        gap after the last singular value; the gap is that of the problem which the training starts from.
    block_size : int, optional
        F, the frequencies of a block. None takes about 512, fewer for fewer than 4,096 points.
    max_features : int, optional
        The budget of random frequencies in each view. None takes four times the number of points, at least 512 and at
        most 16,384.
    batch_size : int, optional
        B, the rows of a step. None takes 1,024, or 20 rows for each component if that is more. The batches of a stream
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
    singular_values_ : ndarray, shape (n_components,), descending
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
        TwoViewEstimator.__init__,
        second_kernel=None,
        second_bandwidth=None,
        second_kernel_params=None,
        center=False,
        scaling="singular values",
        decrease=None,
    )

    # ------------------------------------------------------------------------------------ the parts of a fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, scaling=("singular values", None), center=(True, False))

    def _settings(self) -> TwoViewSVD:
        return TwoViewSVD(scaling=self.scaling, **self._step_parameters())

    def _chosen(self) -> dict[str, Any]:
        return {"scaling": self.scaling}

    def _describe(self, model: ComponentPairs, state: TwoViewState) -> None:
        super()._describe(model, state)
        self.singular_values_ = model.strengths
