"""The estimators' defaults against support vector machines and kernel ridge regression, on data that nobody tuned.

``python benchmarks/defaults.py --half tuned --seeds 0 1 --data FOLDER --out FILE`` fits every estimator at its defaults
to the datasets of `default_data`, and scikit-learn's machines at two regularisations each. What is in FILE already is
not run again. ``--half aside`` takes the other half, which is for looking at once, when nothing is tuned any more.

Scores are accuracies and R² on test rows; the reference is the better of the machines on each split, chosen by these
same test rows, which no user could do. Probabilities are held against the machine's, calibrated by a sigmoid in five
folds. Times are of one fit, and on a machine that does something else too they say little.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import default_data
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss
from sklearn.svm import SVC, SVR

import shallows

OURS = {
    "EP": "EigenPro",
    "EPC": "EigenProCentres",
    "FEP": "FeatureRidge",
    "EKR": "KernelRidge",
    "DSG": "DoublyStochastic",
}
GIVEN = {"FEP": {"solver": "feature_eigenpro"}}
"""Parameters that name the solver."""
GOALS = {  # task: estimator: (mean, worst) that a score may lie below the reference
    "classification": {"EP": (0.002, 0.02), "EPC": (0.002, 0.02), "FEP": (0.01, 0.04), "DSG": (0.01, 0.04)},
    "regression": dict.fromkeys(("EP", "EPC", "FEP", "DSG"), (0.01, 0.05)),
}
LOG_LOSS = 1.02


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("tuned", "aside", "all"), default="tuned")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="+", default=list(OURS), choices=list(OURS), help="which estimators")
    parser.add_argument("--problems", nargs="+", help="which datasets; all of the half if none are named")
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "defaults.json")
    asked = parser.parse_args()
    tuned, aside = default_data.halves()
    problems = {"tuned": tuned, "aside": aside, "all": tuned + aside}[asked.half]
    problems = [problem for problem in problems if not asked.problems or problem.name in asked.problems]
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for seed in asked.seeds:
        for problem in problems:
            kept = results.setdefault(f"{problem.name}/{seed}", {})
            missing = [name for name in ("reference", *asked.only) if name not in kept]
            if missing:
                data = default_data.split(problem, seed, asked.data)
                kept |= {name: measure(name, problem.task, data) for name in missing}
                asked.out.parent.mkdir(parents=True, exist_ok=True)
                asked.out.write_text(json.dumps(results, indent=1))
    for task in ("classification", "regression"):
        names = [problem.name for problem in problems if problem.task == task]
        print(table(task, names, asked.seeds, asked.only, results))


def measure(name: str, task: str, data: default_data.Split) -> dict[str, Any]:
    """Scores of an estimator at its defaults, or of the reference, on one split."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "reference":
            return reference(task, data)
        X, X_test, y, y_test = data
        kind = "Classifier" if task == "classification" else "Regressor"
        started = time.perf_counter()
        model = getattr(shallows.estimators, OURS[name] + kind)(random_state=0, **GIVEN.get(name, {}))
        if name == "FEP" and task == "classification":
            model.set_params(calibration="auto")
        model.fit(X, y)
        seconds = time.perf_counter() - started
        found = {"score": model.score(X_test, y_test), "seconds": seconds}
        found |= {key: model.report_.get(key) for key in ("bandwidth", "regularisation", "n_epochs")}
        if task == "classification":
            found["log_loss"] = log_loss(y_test, model.predict_proba(X_test), labels=model.classes_)
        return found


def reference(task: str, data: default_data.Split) -> dict[str, float]:
    """The best score, and the least log-loss, of scikit-learn's machines."""
    X, X_test, y, y_test = data
    if task == "regression":
        machines: list[Any] = [SVR(C=1.0), SVR(C=10.0)]
        machines += [KernelRidge(kernel="rbf", alpha=alpha) for alpha in (1.0, 0.1)]
        return {"score": max(machine.fit(X, y).score(X_test, y_test) for machine in machines)}
    score = max(SVC(C=C).fit(X, y).score(X_test, y_test) for C in (1.0, 10.0))
    losses = [
        log_loss(y_test, made.predict_proba(X_test), labels=made.classes_)
        for made in (
            CalibratedClassifierCV(SVC(C=C), method="sigmoid", cv=folds(y), ensemble=False).fit(X, y)
            for C in (1.0, 10.0)
        )
    ]
    return {"score": score, "log_loss": min(losses)}


def folds(y: np.ndarray) -> int:
    """Five, or as many as the rarest class has rows."""
    return int(max(2, min(5, np.bincount(y).min())))


def table(task: str, names: list[str], seeds: list[int], estimators: list[str], results: dict[str, Any]) -> str:
    """A table of means over the seeds, and what the differences amount to."""

    def mean(name: str, of: str, key: str) -> float:
        found = [results[f"{name}/{seed}"][of].get(key, np.nan) for seed in seeds]
        return float(np.mean(found))

    def rows(key: str, note: Callable[[float, float], float]) -> tuple[list[str], dict[str, list[float]]]:
        lines, apart = [], {one: [] for one in estimators}
        for name in names:
            best = mean(name, "reference", key)
            ours = {one: mean(name, one, key) for one in estimators}
            for one, value in ours.items():
                apart[one].append(note(value, best))
            lines.append(f"| {name} | {best:.3f} | " + " | ".join(f"{value:.3f}" for value in ours.values()) + " |")
        return lines, apart

    head = f"| {task} | reference | " + " | ".join(estimators) + " |\n|---|" + "---|" * (len(estimators) + 1)
    lines, apart = rows("score", lambda ours, best: ours - best)
    told = [head, *lines, ""]
    for one, values in apart.items():
        mean_goal, worst_goal = GOALS[task].get(one, (None, None))
        goal = f"; goals −{mean_goal} and −{worst_goal}" if mean_goal else ""
        worst = f"{min(values):+.4f} ({names[int(np.argmin(values))]})"
        told.append(f"{one}: mean {np.mean(values):+.4f}, worst {worst}{goal}")
    if task == "classification":
        lines, apart = rows("log_loss", lambda ours, best: ours / best)
        told += ["", head.replace(task, "log-loss"), *lines, ""]
        for one, values in apart.items():
            over = [name for name, value in zip(names, values, strict=True) if value > LOG_LOSS]
            told.append(f"{one}: mean ratio {np.mean(values):.3f}; above {LOG_LOSS}: {', '.join(over) or 'none'}")
    return "\n".join([*told, ""])


if __name__ == "__main__":
    main()
