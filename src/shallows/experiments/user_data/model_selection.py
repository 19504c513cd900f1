"""One method on a user's data: its parameters chosen on a validation part, its error measured on the test part once."""

from __future__ import annotations

import inspect
import itertools
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from shallows import datasets, kernels
from shallows.datasets.files import write_json
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.training import Curve

from ..identity import code
from ..planning.runs import digest
from ..running import record
from ..running.calls import callable_for, model_sha256
from ..running.job import Conditions
from .comparison import SCALE, TARGET


@dataclass
class Trial:
    """One choice of parameters with its score on the validation part; lower is better."""

    parameters: dict[str, Any]
    epochs: int | None = None
    score: float = float("inf")
    seconds: float = 0.0
    problem: str = ""

    def as_data(self) -> dict[str, Any]:
        """The trial for a record."""
        return record.plain({name: value for name, value in vars(self).items() if value not in (None, "")})


@dataclass
class Fitted:
    """A fitted estimator with its predictions for the rows that it was tested on."""

    estimator: Any
    predictions: np.ndarray
    fit_seconds: float
    predict_seconds: float
    by_epoch: list[dict[str, float]] = field(default_factory=list)


def compare(spec: Mapping[str, Any], choose: Path, test: Path, out: Path, conditions: Conditions) -> dict[str, Any]:
    """Choose a method's parameters, fit it on all training rows, test it, and leave ``outcome.json``.

    Parameters
    ----------
    spec : mapping
        What `shallows.experiments.user_data.comparison.Comparison.spec` gives.
    choose, test : Path
        Folders of the two preparations. The test part of the first is the validation part.
    out : Path
        Folder for ``outcome.json`` and, where the method was run, ``record.json`` and ``curve.csv``.
    conditions : Conditions

    Returns
    -------
    dict
        The outcome: ``method``, ``label``, ``seed``, ``has_part`` (whether it is for such a task at all), and either a
        ``record`` or the ``reason`` why there is none.
    """
    definition = spec["definition"]
    data = datasets.load(test)
    task = data.info["task"]
    outcome = {"method": spec["method"], "label": definition["label"], "seed": spec["seed"]}
    outcome["has_part"] = task in definition["call"] or "any" in definition["call"]
    reason = unsuitable(definition, data.info)
    if reason is None:
        try:
            _run(spec, datasets.load(choose), data, out, conditions)
        except TrainingInterrupted:
            raise
        except Exception as error:  # One method that fails must not take the others' comparison away.
            if not isinstance(error, ShallowsError):
                traceback.print_exc()
            reason = f"it failed: {error or type(error).__name__}"
    outcome |= {"reason": reason} if reason else {"record": "record.json"}
    if reason:
        print(f"{definition['label']}: not run: {reason}", flush=True)
    write_json(out / "outcome.json", outcome)
    return outcome


def unsuitable(definition: Mapping[str, Any], info: Mapping[str, Any]) -> str | None:
    """Why a method is not run on such data, or None where it is."""
    rules, task = definition["compare"], info["task"]
    if task not in definition["call"] and "any" not in definition["call"]:
        return f"it is not for {task}"
    shape = info["arrays"]["y_train"]["shape"]
    n_targets = shape[1] if len(shape) > 1 else 1
    if n_targets > rules.get("most_targets", n_targets):
        return f"it has {rules['most_targets']} target at a time, and there are {n_targets}"
    if info["n_train"] > rules.get("most_rows", info["n_train"]):
        why = f": {rules['why']}" if "why" in rules else ""
        return f"it is run on up to {rules['most_rows']:,} training rows, and there are {info['n_train']:,}{why}"
    return None


def _run(spec: Mapping[str, Any], choose: Any, data: Any, out: Path, conditions: Conditions) -> None:
    definition, seed, task = spec["definition"], spec["seed"], data.info["task"]
    record.reset_peak_memory()
    started, clock = datetime.now(UTC), time.perf_counter()
    trials = [
        done
        for trial in candidates(definition, choose, seed)
        for done in _tried(trial, definition, choose, task, seed, conditions)
    ]
    finite = [trial for trial in trials if np.isfinite(trial.score)]
    if not finite:
        raise ShallowsError(next((trial.problem for trial in trials if trial.problem), "no choice gave a finite score"))
    best = min(finite, key=lambda trial: trial.score)
    choosing = time.perf_counter() - clock
    fitted = _fit(definition, best.parameters, [best.epochs], data, task, seed, conditions)
    measured = metrics(task, "test", score(task, fitted.predictions, data))
    measured |= error_in_units(task, fitted.predictions, data)
    final = {**metrics(task, "validation", best.score), **measured}
    times = {"fit_seconds": fitted.fit_seconds, "predict_seconds": fitted.predict_seconds, "choice_seconds": choosing}
    effective = getattr(fitted.estimator, "effective_params_", {})
    parameters = {**definition.get("parameters", {}), **best.parameters}
    parameters |= {"epochs": best.epochs} if best.epochs else {}
    made = record.plain(
        {
            "schema_version": record.SCHEMA_VERSION,
            "run": {
                "id": digest(spec["dataset"], spec["method"], seed),
                "target_ids": [TARGET],
                "scale": SCALE,
                "dataset": spec["dataset"],
                "variant": "test",
                "method": spec["method"],
                "parameters": parameters,
                "seed": seed,
                "marks": [best.epochs] if best.epochs else [],
                "key": digest(
                    spec, data.info["sha256"], choose.info["sha256"], code.digest_of_comparison(definition), length=16
                ),
            },
            "effective": {"device": "cpu", **effective},
            "data": {
                name: data.info[name]
                for name in ("title", "n_train", "n_test", "n_features", "sha256", "licence", "steps")
            },
            "metrics": {"final": final | times, "marks": []},
            "selection": {
                "n_train": choose.info["n_train"],
                "n_validation": choose.info["n_test"],
                "sha256": choose.info["sha256"],
                "score": _SCORES[task],
                "chosen": described(best),
                "trials": [trial.as_data() for trial in trials],
            },
            "model": {"sha256": model_sha256(fitted.estimator)},
            "times": {
                "preparation": 0.0,
                "eigensystem": 0.0,
                "kernel_matrix": 0.0,
                "training": fitted.fit_seconds,
                "prediction": fitted.predict_seconds,
                "total": time.perf_counter() - clock,
            },
            "peak_memory_bytes": record.peak_memory(),
            "resumes": 0,
            "rollbacks": getattr(fitted.estimator, "n_rollbacks_", 0),
            **record.provenance(),
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
    )
    rows = [{"metric": name, "value": value} for name, value in (final | times).items()]
    record.write(out, made, rows)
    scores = ", ".join(f"{name} {value:.4g}" for name, value in measured.items())
    chosen = f" with {described(best)}" if described(best) else ""
    print(f"{definition['label']}: {scores}{chosen} ({time.perf_counter() - clock:.1f} s)", flush=True)


# Choosing ------------------------------------------------------------------------------------------------------------


def candidates(definition: Mapping[str, Any], data: Any, seed: int) -> list[Trial]:
    """Every combination that a method's entry asks to be tried, bandwidths in the units of the data."""
    rules = definition["compare"]
    axes: list[list[tuple[str, Any]]] = [
        [(name, value) for value in values] for name, values in rules.get("choose", {}).items()
    ]
    if "bandwidth" in rules:
        parameter = rules["bandwidth"]["parameter"]
        median = median_distance(data.x_train, seed)
        form = {"bandwidth": lambda width: width, "gamma": lambda width: 1 / (2 * width**2)}[parameter]
        axes.append([(parameter, form(factor * median)) for factor in rules["bandwidth"]["values"]])
    return [Trial(dict(choice)) for choice in itertools.product(*axes)]


def median_distance(x: Any, seed: int, n_points: int = 1000) -> float:
    """The median distance between training points; 1 where they all coincide."""
    rows = x[: min(x.shape[0], 20 * n_points)]
    rows = rows[: max(1, 10**8 // max(1, x.shape[1]))]
    dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    try:
        return kernels.median_bandwidth(dense.astype(np.float64), seed, n_points)
    except ShallowsError:
        return 1.0


def _tried(
    trial: Trial, definition: Mapping[str, Any], data: Any, task: str, seed: int, conditions: Conditions
) -> Iterator[Trial]:
    """Fit and score one choice of parameters; of a method with epochs, once for each number of epochs."""
    epochs = definition["compare"].get("epochs", [None])
    clock = time.perf_counter()
    try:
        fitted = _fit(definition, trial.parameters, epochs, data, task, seed, conditions)
    except (ShallowsError, ValueError, ArithmeticError, MemoryError) as error:
        yield Trial(trial.parameters, problem=str(error) or type(error).__name__)
        return
    seconds = time.perf_counter() - clock
    if epochs == [None]:
        yield Trial(trial.parameters, score=score(task, fitted.predictions, data), seconds=seconds)
    for row in fitted.by_epoch:
        yield Trial(trial.parameters, int(row["epoch"]), row["score"], seconds)


def described(trial: Trial) -> str:
    """The chosen parameters in words."""
    parts = [
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in trial.parameters.items()
    ]
    if trial.epochs:
        parts.append(f"{trial.epochs} epoch" + "s" * (trial.epochs > 1))
    return ", ".join(parts)


# Fitting -------------------------------------------------------------------------------------------------------------


def _fit(
    definition: Mapping[str, Any],
    parameters: Mapping[str, Any],
    epochs: list[int | None],
    data: Any,
    task: str,
    seed: int,
    conditions: Conditions,
) -> Fitted:
    """Fit on the training part and predict the other one."""
    make = callable_for(definition["call"], task)
    given = {**definition.get("parameters", {}), **parameters}
    known = inspect.signature(make).parameters
    own = {"random_state": seed, "device": conditions.device, "memory": conditions.memory}
    given |= {name: value for name, value in own.items() if name in known}
    observers: dict[str, Any] = {}
    curve = None
    if definition["runs"] == "estimator":
        marks = sorted(one for one in epochs if one)
        given["max_epochs"] = max(marks)
        curve = Curve(marks, lambda snapshot: {"score": score(task, snapshot.predict(data.x_test), data)})
        observers = {"observers": [curve]}
    clock = time.perf_counter()
    estimator = make(**given).fit(data.x_train, np.asarray(data.y_train), **observers)
    fit_seconds = time.perf_counter() - clock
    clock = time.perf_counter()
    predictions = np.asarray(estimator.predict(data.x_test))
    return Fitted(
        estimator, predictions, fit_seconds, time.perf_counter() - clock, list(curve.rows) if curve is not None else []
    )


# Scores --------------------------------------------------------------------------------------------------------------

_SCORES = {"classification": "errors in %", "regression": "share of the target's variance that is not explained"}


def score(task: str, predictions: np.ndarray, data: Any) -> float:
    """How wrong predictions are; lower is better. Of several targets every one counts alike."""
    if task == "classification":
        return 100.0 * float(np.mean(predictions != np.asarray(data.y_test)))
    spread = np.var(data.y_test, axis=0)
    return float(np.mean(_squared_errors(predictions, data) / np.where(spread > 0, spread, 1.0)))


def metrics(task: str, part: str, value: float) -> dict[str, float]:
    """A score under the name by which it is reported."""
    return {f"{part}_error": value} if task == "classification" else {f"{part}_r2": 1.0 - value}


def error_in_units(task: str, predictions: np.ndarray, data: Any) -> dict[str, float]:
    """The root mean squared error in the units of the target; nothing in classification."""
    if task == "classification":
        return {}
    found = [one["center_target"]["scale"] for one in data.info["statistics"] if "center_target" in one]
    scale = np.asarray(found[0] if found else 1.0)
    return {"test_rmse": float(np.sqrt(np.mean(_squared_errors(predictions, data) * scale**2)))}


def _squared_errors(predictions: np.ndarray, data: Any) -> np.ndarray:
    """Mean squared error of each target."""
    return np.mean((predictions.reshape(data.y_test.shape) - data.y_test) ** 2, axis=0)
