"""Estimators with a ``fit`` that all processes of an MPI program call, for code that calls ``fit`` itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from .. import estimators, training
from .fitting import fit


class _Together:
    """Mixin whose ``fit`` is a collective operation."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Fit in all processes; see `shallows.distributed.fit`."""
        return fit(self, X, y, sample_weight, observers=observers, checkpoint=checkpoint)


class EigenProClassifier(_Together, estimators.EigenProClassifier):
    """`shallows.EigenProClassifier`, fitted by all processes."""


class EigenProRegressor(_Together, estimators.EigenProRegressor):
    """`shallows.EigenProRegressor`, fitted by all processes."""


class EigenProCentresClassifier(_Together, estimators.EigenProCentresClassifier):
    """`shallows.EigenProCentresClassifier`, fitted by all processes."""


class EigenProCentresRegressor(_Together, estimators.EigenProCentresRegressor):
    """`shallows.EigenProCentresRegressor`, fitted by all processes."""


class DoublyStochasticClassifier(_Together, estimators.DoublyStochasticClassifier):
    """`shallows.DoublyStochasticClassifier`, fitted by all processes."""


class DoublyStochasticRegressor(_Together, estimators.DoublyStochasticRegressor):
    """`shallows.DoublyStochasticRegressor`, fitted by all processes."""
