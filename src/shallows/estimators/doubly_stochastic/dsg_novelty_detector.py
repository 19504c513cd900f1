"""Novelty detection by doubly stochastic gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ... import losses
from ...fitting.expansion_targets import Novelty
from ..inputs import follows_input, to_host
from ..parameters import stores_parameters
from .random_feature_expansion import RandomFeatureExpansion

ROUNDING = 1000.0
"""How many units in the last place a score may be rounded by: sums of so many terms differ by fewer."""


class DoublyStochasticNoveltyDetector(OutlierMixin, RandomFeatureExpansion):
    """Novelty detection by doubly stochastic gradients, after the one-class support vector machine.

    Minimises λ/2 ‖f‖² + E max(0, ρ − f)/ν − ρ. The offset ρ is always the best one for the scores at hand, the
    quantile of ν. The function is a sum of random features of the kernel, which gains a block of them in every
    step. Features are regenerated from a seed whenever they are needed: memory does not depend on the number of inputs,
    and data may stream past (`partial_fit`). The steps are θ/(t + t₀), as in the theory.

    Parameters
    ----------
    fraction : float, default=0.1
        ν in (0, 1]: the share of the training points that may lie outside.
    kernel : str or Kernel, default="gaussian"
        A kernel of `shallows.kernels` that draws random features: "gaussian", "laplace", "cauchy", "matern",
        "laplace_product", "cauchy_product" by their frequencies, "polynomial", "linear", "exponential", "arc_cosine" by
        features of their own, which vary more.
    bandwidth : float or "median", optional
        σ, in the units of the features. None takes the median distance of a subsample (of the first rows of a stream).
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``.
    method : {"dsg", "udsg", "cdsg"}, default="dsg"
        Which block of features a step moves: always a new one ("dsg"), in some steps an old one at random ("udsg"),
        or an old one wherever the variance bound then allows a longer step ("cdsg", for features with a bound: those
        with frequencies, and those of "arc_cosine" of order 0).
    regularisation : float, default=1.0
        λ, for λ/2 ‖f‖² beside the mean loss.
    block_size : int, optional
        F, the frequencies of a block. None takes n/32 rounded up to a power of two, between 32 and 1,024; 128 for a
        stream that is begun with 2,560 rows. Of features without frequencies twice as many.
    batch_size : int, optional
        B, the rows of a step. None takes five examples for every column of a block (ten for features="cosine"). The
        batches of a stream are used as they come, small ones once 100 rows are there; arrays that are handed to
        `partial_fit` are cut into ten slices of 256 to 2,560 rows.
    theta_nu : float, optional
        θν; the theory asks for (1, 2) or a positive whole number. None takes 1.
    fresh, reused : int, default=1
        G and U of "udsg": G steps with new blocks, then U steps with old ones, and so on.
    cap : float, default=2
        θ'/θ of "cdsg": the longest step over the plain one. The paper recommends a cap and gives no number.
    gradient_bound, feature_variance : float, optional
        M and σ² of "cdsg". None estimates both: M as the root mean square of the gradients so far, σ² on a
        subsample.
    features : {"pair", "cosine"}, default="pair"
        Cosines and sines, or cosines with random phases, of kernels that have frequencies.
    orthogonal : bool, default=False
        Whether the frequencies of a block are at right angles to each other.
    keep_values : bool, default=True
        Whether `fit` keeps f at the training points, n × c numbers, so that a batch that comes again costs only the
        blocks that are new since. False sums all blocks for every batch, as the method was published.
    n_iter, max_epochs : int, optional
        The most steps and the most passes over the data. If both are None, ten passes and at least 200 steps for up to
        1,000 rows, 100 for 4,000, 50 for 16,000 and more.
    max_seconds : float, optional
        The most seconds of training.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: random features, the order of the rows and which blocks are used again. The
        same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for a fit to at most 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    offset_ : float
        ρ: points with smaller scores are novel.
    dual_coef_ : ndarray, shape (n_blocks, width, n_outputs)
        Coefficients of the features.
    n_blocks_, n_reused_, n_iter_, n_random_features_ : int
        Blocks in use, steps that moved an old one, steps, frequencies.
    effective_params_ : dict
        What was chosen and estimated: bandwidth, steps, θ, M, σ², cap and more.

    References
    ----------
    B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song (2014), "Scalable kernel methods via doubly
    stochastic gradients", NIPS 27. C.-L. Li and B. Póczos (2016), "Utilize old coordinates: faster doubly stochastic
    gradients for kernel methods", UAI.
    """

    _takes_targets = False
    # Steps of the theory: with a free step the function would grow for ever, since f and ρ scale together.
    schedule, step_size, decrease, preconditioning, damping = "theory", None, 0.0, None, 0.0

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = None,
        kernel_params: dict[str, Any] | None = None,
        fraction: float = 0.1,
        method: str = "dsg",
        regularisation: float = 1.0,
        block_size: int | None = None,
        batch_size: int | None = None,
        theta_nu: float | None = None,
        fresh: int = 1,
        reused: int = 1,
        cap: float = 2.0,
        gradient_bound: float | None = None,
        feature_variance: float | None = None,
        features: str = "pair",
        orthogonal: bool = False,
        keep_values: bool = True,
        n_iter: int | None = None,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    @property
    def loss(self) -> losses.Loss:
        """The loss of novelty detection with the fraction of the user."""
        return losses.Novelty(fraction=self.fraction)

    @property
    def offset_(self) -> float:
        """ρ, lowered by what sums may be rounded by.

        ρ is the score of a training point, which is no novel one, in whatever order its terms are summed.
        """
        check_is_fitted(self)
        return self._lowered_offset()

    def _lowered_offset(self) -> float:
        rho = float(self._state.offset)
        return rho - ROUNDING * float(np.finfo(np.dtype(self.effective_params_["precision"])).eps) * abs(rho)

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> Novelty:
        return Novelty(self.loss)

    @follows_input
    def score_samples(self, X: Any) -> np.ndarray:
        """Values f(x); the smaller, the more novel.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        return self._raw_predict(self._validated(X))[:, 0]

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Values f(x) − ρ; negative for novel points.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        return self.score_samples(to_host(X)) - self.offset_

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """−1 for novel points and 1 for the others.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        return np.where(self.decision_function(to_host(X)) >= 0, 1, -1)
