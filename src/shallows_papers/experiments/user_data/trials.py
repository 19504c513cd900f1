"""Fit every choice of a method's parameters to a user's data and score it on a validation part."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows import kernels
from shallows.errors import ShallowsError
from shallows.training import Curve

from ..planning.runs import fixed_parameters
from ..running.calls import callable_for, make_estimator, path_of
from ..running.job import Conditions
from .prediction_scores import score


@dataclass
class Fitted:
    """A fitted estimator with its predictions for the test rows."""

    estimator: Any
    predictions: np.ndarray
    seconds: tuple[float, float]  # wall-clock time of fitting and of predicting
    processor_seconds: tuple[float, float]  # of all threads; a busy machine does not count
    by_epoch: list[dict[str, float]]  # the score after each requested number of epochs


@dataclass(frozen=True)
class Method:
    """A method of a comparison: makes its estimators and fits them for a task."""

    definition: Mapping[str, Any]  # its entry in the configuration
    task: str
    seed: int
    conditions: Conditions = field(default_factory=Conditions)

    def candidates(self, x_train: Any) -> Iterator[dict[str, Any]]:
        """Yield every combination in the entry: ``parameters``, and the ``factor`` of the median distance."""
        rules = self.definition["compare"]
        choose = rules.get("choose_in", {}).get(self.task, rules.get("choose", {}))
        axes = [[(name, value) for value in values] for name, values in choose.items()]
        factors = rules["bandwidth"]["values"] if "bandwidth" in rules else [None]
        median = median_distance(x_train, self.seed) if "bandwidth" in rules else 1.0
        for *choice, factor in itertools.product(*axes, factors):
            width = {} if factor is None else {"factor": factor}
            yield {"parameters": dict(choice) | bandwidth_parameter(self.definition, factor, median), **width}

    def search(self, data: Any) -> Iterator[dict[str, Any]]:
        """Fit every candidate and score it on the validation part, if it has epochs after each number of epochs.

        Each trial is a candidate with ``epochs``, ``score`` (lower is better), ``seconds`` of fitting and ``words``. It
        has ``problem`` if it could not be fitted.
        """
        epochs = self.definition["compare"].get("epochs", [])
        for candidate in self.candidates(data.x_train):
            clock = time.perf_counter()
            try:
                fitted = self.fit(candidate["parameters"], epochs, data)
                scores = [{"epochs": int(row["epoch"]), "score": row["score"]} for row in fitted.by_epoch]
                found = scores if epochs else [{"score": score(self.task, fitted.predictions, data.y_test)}]
                seconds, problem = time.perf_counter() - clock, {}
            except (ShallowsError, ValueError, ArithmeticError, MemoryError) as error:
                found, seconds, problem = [{"score": np.inf}], 0.0, {"problem": str(error) or type(error).__name__}
            for one in found:
                trial = {**candidate, **one, "seconds": seconds, **problem}
                yield {**trial, "words": words_of(trial)}

    def make(self, parameters: Mapping[str, Any]) -> Any:
        """Return the unfitted estimator with the method's fixed parameters and the given ones."""
        call = callable_for(self.definition["call"], self.task)
        own = {"random_state": self.seed, "device": self.conditions.device, "memory": self.conditions.memory}
        return make_estimator(call, fixed_parameters(self.definition, self.task) | dict(parameters), **own)

    def fit(self, parameters: Mapping[str, Any], epochs: Sequence[int], data: Any) -> Fitted:
        """Fit on the training part and predict the test part; score it after each number of `epochs` too."""
        observers, rows = {}, []
        estimator = self.make(parameters)
        if epochs:
            curve = Curve(
                epochs, lambda snapshot: {"score": score(self.task, snapshot.predict(data.x_test), data.y_test)}
            )
            estimator.set_params(**{path_of(estimator, "max_epochs"): max(epochs)})
            observers, rows = {"observers": [curve]}, curve.rows
        clocks = [_clocks()]
        estimator.fit(data.x_train, np.asarray(data.y_train), **observers)
        clocks.append(_clocks())
        predictions = np.asarray(estimator.predict(data.x_test))
        clocks.append(_clocks())
        return Fitted(estimator, predictions, *map(tuple, np.diff(clocks, axis=0).T.tolist()), rows)


def words_of(trial: Mapping[str, Any]) -> str:
    """Return a choice as text, valid for every split of the data: ``bandwidth 2 × median, 10 epochs``."""
    factor, epochs = trial.get("factor"), trial.get("epochs")
    parts = [
        f"{name.rpartition('__')[2]} " + (f"{value:.3g}" if isinstance(value, float) else f"{value}")
        for name, value in trial["parameters"].items()
        if factor is None or name not in ("bandwidth", "gamma", "features_params", "features__bandwidth")
    ]
    parts += [f"bandwidth {factor:g} × median"] if factor is not None else []
    parts += [f"{epochs} epoch" + "s" * (epochs > 1)] if epochs else []
    return ", ".join(parts)


def bandwidth_parameter(definition: Mapping[str, Any], factor: float | None, median: float) -> dict[str, Any]:
    """Return the parameter that sets a method's bandwidth to factor × median; empty without a factor."""
    if factor is None:
        return {}
    mapping, _, name = definition["compare"]["bandwidth"]["parameter"].rpartition(".")
    width = factor * median
    given = {name: 1 / (2 * width**2) if name == "gamma" else width}
    return {mapping: definition["parameters"][mapping] | given} if mapping else given


def median_distance(x: Any, seed: int, n_points: int = 1000) -> float:
    """Return the median distance between training points; 1 if they all coincide."""
    rows = x[: min(x.shape[0], 20 * n_points)]
    rows = rows[: max(1, 10**8 // max(1, x.shape[1]))]
    dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    try:
        return kernels.median_bandwidth(dense.astype(np.float64), seed, n_points)
    except ShallowsError:
        return 1.0


def _clocks() -> np.ndarray:
    """Return the wall-clock and the processor seconds."""
    return np.array([time.perf_counter(), time.process_time()])
