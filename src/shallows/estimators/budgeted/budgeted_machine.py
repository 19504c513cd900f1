"""The base of the machines with a bounded number of support vectors or hyperplanes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...fitting.budgeted import FittedBudgeted, outputs
from ...fitting.fit_call import FitCall
from ...fitting.rows import TrainingSet, single_column
from ...fitting.stream_training import Batch
from ...fitting.targets import Machines
from ...utils.checks import check_positive
from ..base import fit_rows
from ..streaming import OnlineClassifier, end_beginning


class BudgetedMachine(OnlineClassifier):
    """Base of the machines with a bounded number of support vectors or hyperplanes."""

    fit = fit_rows

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedBudgeted:
        y = single_column(rows.y)
        self._targets = Machines.of(y, "one_vs_rest")
        end_beginning(self, len(y))
        return self._fit_function()(rows.X, y, rows.weights, **self._of_fit(call), streamed=False, before=None)

    def _learn(self, rows: Batch, targets: Machines, begins: bool) -> None:
        self._targets, before = targets, None if begins else self._fitted
        self._store(self._fit_function()(*rows, **self._of_fit(self._call()), streamed=True, before=before))
        self.report_ = self.report_ | {"n_rows_begun_with": self._n_begun}

    def _of_fit(self, call: FitCall) -> dict[str, Any]:
        given = {"targets": self._targets, "solver": self._solver(), "regularization": self.regularization}
        return {**given, "call": call}

    def _store(self, found: FittedBudgeted) -> None:
        """Set the fitted attributes."""
        self._fitted, self.classes_ = found, self._targets.classes
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
