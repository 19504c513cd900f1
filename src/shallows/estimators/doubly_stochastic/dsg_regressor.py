"""Regression by doubly stochastic gradients."""

from typing import Any

from ... import losses, training
from ...fitting.stream_training import StreamState
from ...fitting.targets import StreamedValues
from ..predictions import ValuePredictions
from .random_feature_expansion import RandomFeatureExpansion


class DoublyStochasticRegressor(ValuePredictions, RandomFeatureExpansion):
    """Regression by doubly stochastic gradients: least squares, support vector, robust and quantile regression.

    The function is a constant plus a sum of random features of the kernel, as in `DoublyStochasticClassifier`, which
    also has the attributes. A stream takes the constant from its first rows.

    Parameters
    ----------
    loss : {"square", "epsilon_insensitive", "huber", "quantile"} or Loss, default="auto"
        "auto": "square". An object of `shallows.losses`, such as ``losses.Huber(delta=2.0)``, has parameters in the
        units of y.

    See Also
    --------
    DoublyStochasticClassifier : The same for classes, with the references.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows import DoublyStochasticRegressor
    >>> X = np.linspace(0.0, 6.0, 300)[:, None]
    >>> model = DoublyStochasticRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> StreamedValues:
        return StreamedValues.of(y, weights, self._named_loss())

    def _store(self, stream: StreamState, run: training.Run | None, seconds: dict[str, float]) -> None:
        super()._store(stream, run, seconds)
        self.intercept_ = self._targets.intercept

    def _named_loss(self) -> losses.Loss:
        return losses.make(losses.Square() if isinstance(self.loss, str) and self.loss == "auto" else self.loss)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._refuse_loss("numbers", "DoublyStochasticClassifier", lambda loss: loss.coding == "values")
