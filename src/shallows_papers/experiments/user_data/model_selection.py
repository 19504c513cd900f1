"""Run a method on a user's data: choose its parameters on a validation part, and measure its error on the test part."""

from __future__ import annotations

import pickle
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.utils.atomic import replacing
from shallows_papers import datasets
from shallows_papers.datasets.files import write_json

from ..identity import code, project_modules
from ..planning.runs import digest, fixed_parameters
from ..running import record
from ..running.calls import model_sha256, seconds_by_phase
from ..running.job import Conditions
from .comparison import SCALE, TARGET
from .fit_warnings import collect_warnings
from .prediction_scores import SCORES, error_in_units, metric_of, reported, score, target_scale
from .trials import Method


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
