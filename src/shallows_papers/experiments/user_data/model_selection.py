"""Run a method on a user's data: choose its parameters on a validation part, and measure its error on the test part."""

from __future__ import annotations

import itertools
import pickle
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from shallows import kernels
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.training import Curve
from shallows.utils.atomic import replacing
from shallows_papers import datasets
from shallows_papers.datasets.files import write_json

from ..identity import code, project_modules
from ..planning.runs import digest, fixed_parameters
from ..running import record
from ..running.calls import callable_for, make_estimator, model_sha256, path_of, seconds_by_phase
from ..running.job import Conditions
from .comparison import SCALE, TARGET
from .method_results import collect_warnings
from .prediction_scores import SCORES, error_in_units, metric_of, reported, score, target_scale


def compare(spec: Mapping[str, Any], choose: Path, test: Path, out: Path, conditions: Conditions) -> dict[str, Any]:
    """Choose a method's parameters, fit it on all training rows, test it, write and return ``outcome.json``.

    The specification is one of `Comparison.specs`. It may also have:

    - ``scale`` and ``target``, which are written into the record;
    - ``defaults``: False skips the fit with the defaults of the method's class;
    - ``processor_seconds``: True measures processor time, except for a fit on a GPU.

    The test part of ``choose`` is the validation part. If the method was run, its record and ``predictions.npz`` are
    in the folder of the outcome: ``true`` and ``predicted`` of the test rows, as numbers of ``classes`` or in the
    units of the target. Otherwise the outcome has the ``reason``. Warnings of the fits are counted in the outcome.
    """
    definition = spec["definition"]
    for name in ("record.json", "curve.csv", "predictions.npz"):  # of an earlier run
        (out / name).unlink(missing_ok=True)
    data = datasets.load(test)
    task = data.info["task"]
    outcome = {"method": spec["method"], "label": definition["label"], "seed": spec["seed"]}
    outcome["has_part"] = task in definition["call"] or "any" in definition["call"]
    reason, told = unsuitable(definition, data.info), {}
    if reason is None:
        try:
            with collect_warnings(told):
                _run(spec, datasets.load(choose), data, out, conditions)
        except TrainingInterrupted:
            raise
        except Exception as error:  # If one method fails, the comparison of the others continues.
            if not isinstance(error, ShallowsError):
                traceback.print_exc()
            reason = f"it failed: {error or type(error).__name__}"
    outcome |= {"reason": reason} if reason else {"record": "record.json"}
    outcome |= {"warnings": told} if told else {}
    if reason:
        print(f"{definition['label']}: not run: {reason}", file=sys.stderr, flush=True)
    write_json(out / "outcome.json", outcome)
    return outcome


def unsuitable(definition: Mapping[str, Any], info: Mapping[str, Any]) -> str | None:
    """Say why a method is not run on such data; None if it is run."""
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
    started, clock, processor = datetime.now(UTC), time.perf_counter(), time.process_time()
    method = Method(definition, task, seed, conditions)
    trials = [*method.search(choose)]
    finite = [trial for trial in trials if np.isfinite(trial["score"])]
    if not finite:
        raise ShallowsError(
            next((one["problem"] for one in trials if "problem" in one), "no choice gave a finite score")
        )
    best = min(finite, key=lambda trial: trial["score"])
    choosing = time.perf_counter() - clock, time.process_time() - processor
    epochs = {"epochs": best["epochs"]} if "epochs" in best else {}
    fitted = method.fit(best["parameters"], [*epochs.values()], data)
    measured = {metric_of(task, "test"): reported(task, score(task, fitted.predictions, data.y_test))}
    measured |= error_in_units(task, fitted.predictions, data)
    final = {metric_of(task, "validation"): reported(task, best["score"]), **measured}
    effective = {"device": "cpu", **getattr(fitted.estimator, "report_", {})}
    seconds = *fitted.seconds, choosing[0]
    if spec.get("processor_seconds") and "gpu" not in str(effective["device"]):
        seconds = *fitted.processor_seconds, choosing[1]
    final |= dict(zip(("fit_seconds", "predict_seconds", "choice_seconds"), seconds, strict=True))
    final["model_kilobytes"] = model_bytes(fitted.estimator) / 1000
    if len(trials) > 1 and spec.get("defaults", True):
        final |= _at_defaults(replace(method, definition={"call": definition["call"]}), definition["label"], data)
    parameters = {**fixed_parameters(definition, task), **best["parameters"], **epochs}
    sums = data.info["sha256"], choose.info["sha256"]
    run = {
        "id": digest(spec["dataset"], spec["method"], seed),
        "target_ids": [spec.get("target", TARGET)],
        "scale": spec.get("scale", SCALE),
        "dataset": spec["dataset"],
        "variant": "test",
        "method": spec["method"],
        "parameters": parameters,
        "seed": seed,
        "marks": [*epochs.values()],
        "key": digest(spec, *sums, project_modules.digest(code.files_of_comparison(definition)), length=16),
    }
    times = seconds_by_phase(dict(zip(("training", "evaluation"), fitted.seconds, strict=True)))
    made = record.made(
        run,
        data.info,
        started,
        effective["device"],
        effective=effective,
        metrics={"final": final, "marks": []},
        selection={
            "n_train": choose.info["n_train"],
            "n_validation": choose.info["n_test"],
            "sha256": choose.info["sha256"],
            "score": SCORES[task],
            "chosen": best["words"],
            "trials": record.plain(trials),
        },
        model={"sha256": model_sha256(fitted.estimator)},
        times={**times, "total": time.perf_counter() - clock},
        resumes=0,
        rollbacks=getattr(fitted.estimator, "n_rollbacks_", 0),
    )
    _write_predictions(out / "predictions.npz", task, fitted.predictions, data)
    record.write(out, made, [{"metric": name, "value": value} for name, value in final.items()])
    scores = ", ".join(f"{name} {value:.4g}" for name, value in measured.items())
    chosen = f" with {best['words']}" if best["words"] else ""
    print(f"{definition['label']}: {scores}{chosen} ({time.perf_counter() - clock:.1f} s)", flush=True)


def _at_defaults(method: Method, label: str, data: Any) -> dict[str, float]:
    """Return the score of the method's class with default parameters; if it fails, log it and return nothing."""
    try:
        fitted = method.fit({}, [], data)
    except (ShallowsError, ValueError, ArithmeticError, MemoryError) as error:
        print(f"{label}: the fit at the defaults failed: {error}", file=sys.stderr, flush=True)
        return {}
    found = reported(method.task, score(method.task, fitted.predictions, data.y_test))
    return {metric_of(method.task, "default"): found, "default_seconds": fitted.seconds[0]}


def model_bytes(estimator: Any) -> int:
    """Return the bytes of a fitted estimator as pickle would write it, which works for every package.

    Support vectors and centers count as the training rows that they are. For random features only the seed counts,
    since they are drawn again from it.
    """
    written: list[int] = []
    file = SimpleNamespace(write=lambda content: written.append(memoryview(content).nbytes))  # stores only sizes
    pickle.Pickler(file, protocol=5).dump(estimator)
    return sum(written)


def _write_predictions(path: Path, task: str, predictions: np.ndarray, data: Any) -> None:
    truth = np.asarray(data.y_test)
    predicted = predictions.reshape(truth.shape)
    if task == "regression":
        mean, scale = target_scale(data.info)
        truth, predicted = truth * scale + mean, predicted * scale + mean
    with replacing(path) as partial, open(partial, "wb") as file:
        classes = np.asarray(data.info["classes"] or [], dtype=str)
        np.savez_compressed(file, true=truth, predicted=predicted, classes=classes)


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
