"""Novelty detection by doubly stochastic gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ... import losses
from ...arrays.user_arrays import follows_input, to_host
from ...fitting.targets import NoveltyTargets
from ..constructors import stores_parameters
from .random_feature_expansion import RandomFeatureExpansion

ROUNDING = 1000.0
"""Rounding of a score, in units in the last place. Sums of this many terms differ by less."""


class DoublyStochasticNoveltyDetector(OutlierMixin, RandomFeatureExpansion):
    """Novelty detection by doubly stochastic gradients, as with the one-class support vector machine.

    Minimizes λ/2 ‖f‖² + E max(0, ρ − f)/ν − ρ. The offset ρ is always the best one for the current scores, their
    ν-quantile. The function is a sum of random features of the kernel, as in `DoublyStochasticRegressor`.

    Parameters
    ----------
    fraction : float, default=0.1
        ν in (0, 1]: share of the training points that may be outside.
    kernel : str or Kernel, default="gaussian"
    bandwidth : float or "median", optional
        σ, in the units of X. None: the median distance of a subsample; a stream uses its first rows.
    method : {"dsg", "udsg", "cdsg"}, default="dsg"
    regularisation : float, default=1.0
        λ of λ/2 ‖f‖², next to the mean loss.
    theta_nu : float, optional
        θν of the theory: in (1, 2) or a positive whole number. None: 1.
    fresh, reused : int, default=1
    cap : float, default=2
    features : {"pair", "cosine"}, default="pair"
    orthogonal : bool, default=False
    keep_values : bool, default=True
    kernel_params, block_size, batch_size, gradient_bound, feature_variance, n_iter, max_epochs, max_seconds : optional
        As in `DoublyStochasticRegressor`, like all parameters above without a description.
    random_state : int, RandomState or None, default=None
        Seed of all random draws. An int gives the same model every time.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" uses a GPU if CuPy finds one.
    memory : int or str, optional
        Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision. "auto": float32, or float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    offset_ : float
        ρ. Points with smaller scores are novel.
    dual_coef_ : ndarray, shape (n_blocks, width, n_outputs)
        Coefficients of the features.
    n_blocks_, n_reused_, n_iter_, n_random_features_ : int
        Blocks, steps on old blocks, all steps, frequencies.
    effective_params_ : dict
        Chosen and estimated values: bandwidth, steps, θ, M, σ², cap and more.

    References: see `DoublyStochasticClassifier`.
    """

    _takes_targets = False
    # f and ρ scale together, so that with free steps the function would grow forever. The theory's steps prevent it.
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
    ):
        """Store the parameters, which the docstring of the class describes."""

    @property
    def loss(self) -> losses.Loss:
        """The loss of novelty detection, with ``fraction``."""
        return losses.Novelty(fraction=self.fraction)

    @property
    def offset_(self) -> float:
        """ρ, lowered by a rounding error: ρ is the score of a training point, which must not become novel."""
        check_is_fitted(self)
        rho = float(self._state.offset)
        return rho - ROUNDING * float(np.finfo(np.dtype(self.effective_params_["precision"])).eps) * abs(rho)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        losses.make(self.loss)

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> NoveltyTargets:
        return NoveltyTargets(self.loss)

    @follows_input
    def score_samples(self, X: Any) -> np.ndarray:
        """Values f(x). Smaller values are more novel.

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
