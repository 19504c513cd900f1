"""The choices of parameters of a method on a user's data, each fitted and scored on a validation part."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shallows import kernels
from shallows.errors import ShallowsError
from shallows.training import Curve

from ..planning.runs import fixed_parameters
from ..running import record
from ..running.calls import callable_for, make_estimator, path_of
from ..running.job import Conditions
from .prediction_scores import score


@dataclass
class Trial:
    """One choice of parameters with its score on the validation part; lower is better."""

    parameters: dict[str, Any]  # as the estimator takes them
    factor: float | None = None  # the bandwidth in median distances between training points; None without one
    epochs: int | None = None
    score: float = float("inf")
    seconds: float = 0.0  # of fitting, with evaluations during the fit
    problem: str = ""  # why it could not be fitted

    @property
    def words(self) -> str:
        """The choice in words that hold for every division of the data: ``bandwidth 2 × median, 10 epochs``."""
        parts = [
            f"{name.rpartition('__')[2]} {value:.3g}"
            if isinstance(value, float)
            else f"{name.rpartition('__')[2]} {value}"
            for name, value in self.parameters.items()
            if self.factor is None or name not in ("bandwidth", "gamma", "features_params", "features__bandwidth")
        ]
        if self.factor is not None:
            parts.append(f"bandwidth {self.factor:g} × median")
        if self.epochs:
            parts.append(f"{self.epochs} epoch" + "s" * (self.epochs > 1))
        return ", ".join(parts)

    def as_data(self) -> dict[str, Any]:
        """The trial for a record."""
        kept = {name: value for name, value in vars(self).items() if value not in (None, "")}
        return record.plain({**kept, "words": self.words})


@dataclass
class Fitted:
    """A fitted estimator with its predictions for the test rows."""

    estimator: Any
    predictions: np.ndarray
    fit_seconds: float  # by the clock
    predict_seconds: float
    processor_seconds: tuple[float, float]  # of fitting and predicting, of all threads; a busy machine does not count
    #: the score after each number of epochs that was asked for
    by_epoch: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Method:
    """A method of a comparison: the choices of its parameters, and its estimators made and fitted for a task."""

    definition: Mapping[str, Any]  # its entry in the configuration
    task: str
    seed: int
    conditions: Conditions = field(default_factory=Conditions)

    def candidates(self, x_train: Any) -> list[Trial]:
        """Every combination that the method's entry lists, with bandwidths in the units of the data."""
        rules = self.definition["compare"]
        choose = rules.get("choose_in", {}).get(self.task, rules.get("choose", {}))
        axes = [[(name, value) for value in values] for name, values in choose.items()]
        factors: list[float | None] = [None]
        median = 1.0
        if "bandwidth" in rules:
            factors, median = rules["bandwidth"]["values"], median_distance(x_train, self.seed)
        return [
            Trial({**dict(choice), **bandwidth_parameter(self.definition, factor, median)}, factor)
            for *choice, factor in itertools.product(*axes, factors)
        ]

    def tried(self, trial: Trial, data: Any) -> Iterator[Trial]:
        """Fit and score one choice of parameters; of a method with epochs, once for each number of epochs."""
        epochs = self.definition["compare"].get("epochs", [])
        clock = time.perf_counter()
        try:
            fitted = self.fit(trial.parameters, epochs, data)
        except (ShallowsError, ValueError, ArithmeticError, MemoryError) as error:
            yield replace(trial, problem=str(error) or type(error).__name__)
            return
        seconds = time.perf_counter() - clock
        if not epochs:
            yield replace(trial, score=score(self.task, fitted.predictions, data.y_test), seconds=seconds)
        for row in fitted.by_epoch:
            yield replace(trial, epochs=int(row["epoch"]), score=row["score"], seconds=seconds)

    def make(self, parameters: Mapping[str, Any]) -> Any:
        """The unfitted estimator with the fixed parameters of the method and the given ones."""
        call = callable_for(self.definition["call"], self.task)
        own = {"random_state": self.seed, "device": self.conditions.device, "memory": self.conditions.memory}
        return make_estimator(call, fixed_parameters(self.definition, self.task) | dict(parameters), **own)

    def fit(self, parameters: Mapping[str, Any], epochs: Sequence[int], data: Any) -> Fitted:
        """Fit on the training part and predict the test part; with `epochs`, score it after each of these too."""
        observers, rows = {}, []
        estimator = self.make(parameters)
        if epochs:
            curve = Curve(
                epochs, lambda snapshot: {"score": score(self.task, snapshot.predict(data.x_test), data.y_test)}
            )
            estimator.set_params(**{path_of(estimator, "max_epochs"): max(epochs)})
            observers, rows = {"observers": [curve]}, curve.rows
        start = _clocks()
        estimator.fit(data.x_train, np.asarray(data.y_train), **observers)
        fitted = _clocks()
        predictions = np.asarray(estimator.predict(data.x_test))
        (fit_seconds, fit_processor), (seconds, processor) = (fitted - start).tolist(), (_clocks() - fitted).tolist()
        return Fitted(estimator, predictions, fit_seconds, seconds, (fit_processor, processor), rows)


def bandwidth_parameter(definition: Mapping[str, Any], factor: float | None, median: float) -> dict[str, Any]:
    """The parameter that gives a method's kernel or features the bandwidth factor × median; none for no factor."""
    if factor is None:
        return {}
    mapping, _, name = definition["compare"]["bandwidth"]["parameter"].rpartition(".")
    width = factor * median
    given = {name: 1 / (2 * width**2) if name == "gamma" else width}
    return {mapping: definition["parameters"][mapping] | given} if mapping else given


def median_distance(x: Any, seed: int, n_points: int = 1000) -> float:
    """The median distance between training points; 1 where they all coincide."""
    rows = x[: min(x.shape[0], 20 * n_points)]
    rows = rows[: max(1, 10**8 // max(1, x.shape[1]))]
    dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    try:
        return kernels.median_bandwidth(dense.astype(np.float64), seed, n_points)
    except ShallowsError:
        return 1.0


def _clocks() -> np.ndarray:
    """Seconds by the clock and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])
