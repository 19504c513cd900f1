"""The base of the machines with a bounded number of support vectors or hyperplanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ...fitting.budgeted import FittedBudgeted, outputs
from ...fitting.rows import single_column
from ...fitting.stream_training import Batch
from ...fitting.targets import Machines
from ...utils.checks import check_positive
from ..base import keeps_model_on_failure
from ..streaming import OnlineClassifier, end_beginning


class BudgetedMachine(OnlineClassifier):
    """Base of the machines with a bounded number of support vectors or hyperplanes."""

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: D102
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        y = single_column(rows.y)
        self._train((rows.X, y, rows.weights), Machines.of(y, "one_vs_rest"))
        end_beginning(self, len(y))
        return self

    def _learn(self, rows: Batch, targets: Machines, begins: bool) -> None:
        self._train(rows, targets, streamed=True, before=None if begins else self._fitted)
        self.report_ = self.report_ | {"n_rows_begun_with": self._n_begun}

    def _train(
        self, rows: Batch, targets: Machines, *, streamed: bool = False, before: FittedBudgeted | None = None
    ) -> None:
        found = self._fit_function()(
            *rows,
            targets=targets,
            solver=self._solver(),
            regularization=self.regularization,
            streamed=streamed,
            before=before,
            call=self._call(),
        )
        self._store(found, targets)

    def _store(self, found: FittedBudgeted, targets: Machines) -> None:
        """Set the fitted attributes."""
        self._fitted, self._targets, self.classes_ = found, targets, targets.classes
        self.regularization_, self.n_steps_ = found.ridge, found.n_steps
        self.n_epochs_ = self.n_iter_ = found.n_epochs
        self.report_ = {**found.report, "timings": found.seconds}
        self._describe(found.model)

    def _fit_function(self) -> Callable[..., FittedBudgeted]:
        """The function of `shallows.fitting` that trains the machine."""
        raise NotImplementedError

    def _solver(self) -> Any:
        raise NotImplementedError

    def _describe(self, model: Any) -> None:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "regularization", rules=("auto",))
        self._solver().check()

    def _raw_predict(self, X: Any) -> np.ndarray:
        return outputs(self._fitted.model, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")
