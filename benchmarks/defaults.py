"""The estimators' defaults, compared with support vector machines and kernel ridge regression on 44 datasets.

``python benchmarks/defaults.py --half tuned --seeds 0 1 --data FOLDER --out FILE`` fits every estimator at its defaults
to the datasets of `default_data`, and scikit-learn's machines with two values of C or alpha each. Results that are in
FILE are not measured again. ``--half aside`` takes the other half, which is looked at once, after all tuning.
``--inputs`` compares the choices of kernel and metric of kernel ridge regression instead of the solvers, with boosting,
a forest, a support vector machine and xRFM beside them.

Scores are accuracies and R² on test rows. The reference is the best of the machines on each split, chosen by these
same test rows, which no user could do. Probabilities are compared with the machine's, calibrated by a sigmoid in five
folds. Times are of one fit.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import default_data
import numpy as np
from models import make
from record import Record
from scipy.stats import rankdata
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.svm import SVC, SVR
from which_estimator import WithValidation

OURS = {
    "EP": "EigenPro",
    "EPC": "EigenPro with centers",
    "FEP": "EigenPro on random features",
    "EKR": "exact kernel ridge",
    "DSG": "doubly stochastic gradients",
}
INPUTS = {
    "none": {},
    "kernel": {"kernel": "auto"},
    "metric": {"metric": "auto"},
    "both": {"kernel": "auto", "metric": "auto"},
}
"""Parameters of kernel ridge regression, of which ``--inputs`` compares the defaults with the others."""
PEERS = {
    "boosting": {"classification": HistGradientBoostingClassifier, "regression": HistGradientBoostingRegressor},
    "forest": {"classification": RandomForestClassifier, "regression": RandomForestRegressor},
    "SVM": {"classification": partial(SVC, C=10.0), "regression": partial(SVR, C=10.0)},
    "xRFM": {task: partial(WithValidation, task) for task in ("classification", "regression")},
}
"""What ``--inputs`` compares them with, at its defaults but for the C of the machine."""
GOALS = {  # task: estimator: (mean, worst) that a score may lie below the reference
    "classification": {"EP": (0.002, 0.02), "EPC": (0.002, 0.02), "FEP": (0.01, 0.04), "DSG": (0.01, 0.04)},
    "regression": dict.fromkeys(("EP", "EPC", "FEP", "DSG"), (0.01, 0.05)),
}
LOG_LOSS = 1.02
HALVES = {"tuned": "Tuned half", "aside": "Half set aside", "all": "Both halves"}


def main() -> None:
    """Measure what is missing, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("tuned", "aside", "all"), default="tuned")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--inputs", action="store_true", help="compare choices of kernel and metric")
    parser.add_argument("--only", nargs="+", choices=[*OURS, *INPUTS, *PEERS], help="which estimators")
    parser.add_argument("--problems", nargs="+", help="which datasets; all of the half if none are named")
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "defaults_fits.json")
    asked = parser.parse_args()
    first, *others = (*INPUTS, *PEERS) if asked.inputs else ("reference", *OURS)
    others = asked.only or others
    tuned, aside = default_data.halves()
    problems = {"tuned": tuned, "aside": aside, "all": tuned + aside}[asked.half]
    problems = [problem for problem in problems if not asked.problems or problem.name in asked.problems]
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for seed in asked.seeds:
        for problem in problems:
            kept = results.setdefault(f"{problem.name}/{seed}", {})
            missing = [name for name in (first, *others) if name not in kept]
            if missing:
                data = default_data.split(problem, seed, asked.data)
                kept |= {name: measure(name, problem.task, data) for name in missing}
                asked.out.parent.mkdir(parents=True, exist_ok=True)
                asked.out.write_text(json.dumps(results, indent=1))
    record = Record("inputs" if asked.inputs else "defaults", resume=True)
    for task in ("classification", "regression"):
        names = [problem.name for problem in problems if problem.task == task]
        kinds = ["score", "log_loss"] if task == "classification" else ["score"]
        for kind in [*kinds, "processor_seconds"] if asked.inputs else kinds:
            what = f"{kind.replace('log_loss', 'log-loss').replace('_', ' ')} of {task}"
            rows, note = table(task, kind, names, asked.seeds, first, others, results)
            record.add(f"{HALVES[asked.half]}, {what}", ("data", first, *others), rows, note)
            print(what, note, sep="\n\n")
    if asked.inputs:
        columns, rows = mean_ranks(problems, asked.seeds, (first, *others), results)
        record.add(f"{HALVES[asked.half]}, mean rank by score (1 is best)", columns, rows)
        print("mean rank", *rows, sep="\n")


def measure(name: str, task: str, data: default_data.Split) -> dict[str, Any]:
    """Scores of an estimator at its defaults, or of the reference, on one split."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "reference":
            return reference(task, data)
        X, X_test, y, y_test = data
        started, busy = time.perf_counter(), time.process_time()
        if name in PEERS:
            model = PEERS[name][task]()
        else:
            solver, parameters = ("kernel ridge", INPUTS[name]) if name in INPUTS else (OURS[name], {})
            model = make(solver, task, **parameters)
        model.fit(X, y)
        found = {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - busy}
        found["score"] = (accuracy_score if task == "classification" else r2_score)(y_test, model.predict(X_test))
        if name in PEERS:
            return found
        found |= {key: model.report_.get(key) for key in ("bandwidth", "alpha", "n_epochs", "kernel", "metric")}
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
    """Five, or fewer if the rarest class has fewer rows."""
    return int(max(2, min(5, np.bincount(y).min())))


def table(
    task: str, key: str, names: list[str], seeds: list[int], first: str, others: list[str], results: dict[str, Any]
) -> tuple[list[list[str]], str]:
    """Rows of means over the seeds, and a note on the differences from the first column."""

    def mean(name: str, of: str) -> float:
        return float(np.mean([results[f"{name}/{seed}"][of].get(key, np.nan) for seed in seeds]))

    rows, apart = [], {estimator: [] for estimator in others}
    for name in names:
        best, ours = mean(name, first), [mean(name, estimator) for estimator in others]
        rows.append([name, *("–" if np.isnan(value) else f"{value:.3f}" for value in (best, *ours))])
        for estimator, value in zip(others, ours, strict=True):
            apart[estimator].append(value - best if key == "score" else value / best)
    notes = []
    for estimator, values in apart.items():
        if np.isnan(values).all():
            continue
        if key == "processor_seconds":
            notes.append(f"- {estimator}: mean ratio {np.mean(values):.2f}, largest {max(values):.2f}")
            continue
        if key == "log_loss":
            over = [name for name, value in zip(names, values, strict=True) if value > LOG_LOSS]
            notes.append(
                f"- {estimator}: mean ratio {np.mean(values):.3f}; above {LOG_LOSS}: {', '.join(over) or 'none'}"
            )
            continue
        mean_goal, worst_goal = GOALS[task].get(estimator, (None, None))
        goal = f"; goals −{mean_goal} and −{worst_goal}" if mean_goal else ""
        worst = f"{min(values):+.4f} ({names[int(np.argmin(values))]})"
        notes.append(f"- {estimator}: mean {np.mean(values):+.4f}, worst {worst}{goal}")
    return rows, "\n".join(notes)


def mean_ranks(
    problems: list[default_data.Problem], seeds: list[int], names: tuple[str, ...], results: dict[str, Any]
) -> tuple[list[str], list[list[str]]]:
    """For each estimator its rank among all, of scores that are means over the seeds, and the means of these ranks."""
    scores = [
        [-np.mean([results[f"{problem.name}/{seed}"][name]["score"] for seed in seeds]) for name in names]
        for problem in problems
    ]
    ranks, tasks = rankdata(scores, axis=1), np.array([problem.task for problem in problems])
    chosen = {"classification": tasks == "classification", "regression": tasks == "regression", "all": tasks != ""}
    return ["estimator", *chosen], [
        [name, *(f"{ranks[of, column].mean():.2f}" for of in chosen.values())] for column, name in enumerate(names)
    ]


if __name__ == "__main__":
    main()
