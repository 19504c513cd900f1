"""Novelty detection by doubly stochastic gradients."""

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ... import losses
from ...arrays.user_arrays import follows_input, to_host
from ...fitting.machine import Options
from ...fitting.targets import NoveltyTargets
from ...solvers.expansions.doubly_stochastic import DoublyStochastic
from ...utils.checks import check_positive
from ..constructors import stores_parameters
from ..streaming import GrowingModel
from .random_feature_expansion import RandomFeatureExpansion

ROUNDING = 1000.0
"""Rounding of a score, in units in the last place. Sums of this many terms differ by less."""


class DoublyStochasticNoveltyDetector(OutlierMixin, RandomFeatureExpansion):
    """Novelty detection by doubly stochastic gradients, as with the one-class support vector machine.

    Minimizes λ/2 ‖f‖² + E max(0, ρ − f)/ν − ρ. The offset ρ is always the best one for the current scores, their
    ν-quantile. The function is a sum of random features of the kernel, as in `DoublyStochasticRegressor`.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        As in `DoublyStochasticRegressor`: one with random features.
    bandwidth : float or "median", default="median"
        σ, in the units of X. "median": the median distance of a subsample; a stream uses its first rows.
    fraction : float, default=0.1
        ν in (0, 1]: share of the training points that may be outside.
    regularization : float, default=1.0
        λ of λ/2 ‖f‖², next to the mean loss.
    solver : "auto" or shallows.solvers.DoublyStochastic, default="auto"
        Batches and blocks of features. The steps are always those of ``TheoryStep``.
    random_state : int, RandomState or None, default=None
    options : shallows.Options, optional
        Device, memory, precision, time limit and progress bar.

    Attributes
    ----------
    offset_ : float, ρ; points with smaller scores are novel
    dual_coef_ : ndarray, shape (n_blocks, width, n_outputs)
    n_blocks_, n_reused_, n_iter_, n_random_features_ : int
    report_ : dict

    See Also
    --------
    DoublyStochasticClassifier : The method, with the references.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows.svm import DoublyStochasticNoveltyDetector
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> DoublyStochasticNoveltyDetector(fraction=0.05, random_state=0).fit(X).predict([[9.0, 9.0]])
    array([-1])
    """

    _takes_targets = False

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str = "median",
        fraction: float = 0.1,
        regularization: float = 1.0,
        solver: Any = "auto",
        random_state: Any = None,
        options: Options | None = None,
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
        return rho - ROUNDING * float(np.finfo(np.dtype(self.report_["precision"])).eps) * abs(rho)

    def _settings(self) -> DoublyStochastic:
        return GrowingModel._settings(self).for_novelty()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "regularization")
        losses.make(self.loss)

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> NoveltyTargets:
        return NoveltyTargets(self.loss)

    @follows_input
    def score_samples(self, X: Any) -> np.ndarray:
        """Values f(x), shape (n_samples,). Smaller values are more novel."""
        return self._raw_predict(self._validated(X))[:, 0]

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Values f(x) − ρ, shape (n_samples,); negative for novel points."""
        return self.score_samples(to_host(X)) - self.offset_

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """−1 for novel points and 1 for the others, shape (n_samples,)."""
        return np.where(self.decision_function(to_host(X)) >= 0, 1, -1)
