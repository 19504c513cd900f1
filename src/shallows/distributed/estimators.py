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


class KernelRidgeClassifier(_Together, estimators.KernelRidgeClassifier):
    """`shallows.KernelRidgeClassifier`, fitted by all processes."""


class KernelRidgeRegressor(_Together, estimators.KernelRidgeRegressor):
    """`shallows.KernelRidgeRegressor`, fitted by all processes."""


class DoublyStochasticClassifier(_Together, estimators.DoublyStochasticClassifier):
    """`shallows.DoublyStochasticClassifier`, fitted by all processes."""


class DoublyStochasticRegressor(_Together, estimators.DoublyStochasticRegressor):
    """`shallows.DoublyStochasticRegressor`, fitted by all processes."""
