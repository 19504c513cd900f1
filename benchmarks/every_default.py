"""Every classifier and regressor of the package at its defaults on small data, beside those of scikit-learn.

``python benchmarks/every_default.py`` prints the last tables of ``RESULTS-defaults.md``; ``--only KernelSVM``
those of the estimators whose names hold one of the words; ``--probabilities`` log-losses and calibration errors, with
``--data FOLDER`` of three real sets, whose files come from there or from ``SHALLOWS_MIRROR``. Inputs, and targets of
regression, are standardised by the training rows, 60 % of the rows; the score is that of the others.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets as sets
from default_data import PROBLEMS
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import shallows

Table = tuple[np.ndarray, np.ndarray]


def classes() -> dict[str, Table]:
    """Small sets that scikit-learn carries, and generated ones: noise, a ring, many classes, few rows, rare cases."""
    made = sets.make_classification
    names = ("iris", "wine", "breast_cancer", "digits")
    bundled = {name: getattr(sets, f"load_{name}")(return_X_y=True) for name in names}
    return bundled | {
        "moons": sets.make_moons(1000, noise=0.25, random_state=0),
        "circles": sets.make_circles(1000, noise=0.1, factor=0.5, random_state=0),
        "blobs": sets.make_blobs(1000, centers=6, n_features=10, cluster_std=4, random_state=0),
        "noisy": made(1500, 20, n_informative=8, n_redundant=4, flip_y=0.2, random_state=0),
        "five": made(1500, 20, n_informative=10, n_classes=5, random_state=0),
        "wide": made(200, 500, n_informative=20, random_state=0),
        "rare": made(1500, 10, n_informative=5, weights=[0.93], random_state=0),
        "hastie": sets.make_hastie_10_2(1500, random_state=0),
        "shells": sets.make_gaussian_quantiles(n_samples=1000, n_features=4, n_classes=3, random_state=0),
    }


def values() -> dict[str, Table]:
    """Regression with little and much noise, linear and not, in one input and in many, and of nothing."""
    draw = np.random.default_rng(0)
    nothing = draw.normal(size=(1200, 10)), draw.normal(size=1200)
    x = draw.uniform(-3, 3, (400, 1))
    sine = x, np.sin(3 * x[:, 0]) + 0.2 * draw.normal(size=400)
    wide = draw.normal(size=(100, 300))
    return {
        "diabetes": sets.load_diabetes(return_X_y=True),
        "friedman1": sets.make_friedman1(1200, noise=1, random_state=0),
        "noisy": sets.make_friedman1(1200, noise=5, random_state=0),
        "friedman2": sets.make_friedman2(1200, noise=20, random_state=0),
        "friedman3": sets.make_friedman3(1200, noise=0.1, random_state=0),
        "linear": sets.make_regression(1200, 50, n_informative=50, noise=100, random_state=0),
        "sparse": sets.make_sparse_uncorrelated(1200, 10, random_state=0),
        "nothing": nothing,
        "sine": sine,
        "wide": (wide, wide[:, :10].sum(1) + 0.5 * draw.normal(size=100)),
        "roll": sets.make_swiss_roll(1200, noise=0.3, random_state=0),
    }


TASKS: dict[str, tuple[Callable[[], dict[str, Table]], dict[str, Callable[[], Any]]]] = {
    "Classifier": (classes, {"SVC": SVC, "LinearSVC": LinearSVC, "LogisticRegression": LogisticRegression}),
    "Regressor": (values, {"SVR, C = 10": lambda: SVR(C=10), "Ridge": Ridge}),
}


def score(model: Any, X: np.ndarray, y: np.ndarray, ending: str, *, probabilities: bool = False) -> Any:
    """Accuracy, or R², on the rows that the model was not fitted to; with ``probabilities`` what is told of these."""
    stratify = y if ending == "Classifier" else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=stratify)
    scaler = StandardScaler().fit(X)
    if ending == "Regressor":
        mean, deviation = y.mean(), y.std()
        y, y_test = (y - mean) / deviation, (y_test - mean) / deviation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(scaler.transform(X), y)
        return (told if probabilities else type(model).score)(model, scaler.transform(X_test), y_test)


def told(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Log-loss, and the mean distance of probabilities from frequencies in ten equal groups, over all classes."""
    given = model.predict_proba(X)
    own = (y[:, None] == model.classes_).ravel()
    share, mean = calibration_curve(own, given.ravel(), n_bins=10, strategy="quantile")
    return log_loss(y, given, labels=model.classes_), float(np.mean(np.abs(share - mean)))


def linked(kind: type) -> Callable[[], Any] | None:
    """The classifier with probabilities: as it is, or with the logistic loss; None where it has none."""
    made = kind(random_state=0)
    if "loss" in made.get_params() and not hasattr(made, "predict_proba"):
        made.set_params(loss="logistic")
    return (lambda: clone(made)) if hasattr(made, "predict_proba") else None


def real(folder: Path) -> dict[str, Table]:
    """Rows of sets with a class of a quarter, a class of a tenth, and seven classes from 49 to 0.5 %."""
    return {name: PROBLEMS[name].load(0, folder) for name in ("a9a", "ijcnn1", "covtype")}


def print_probabilities(only: list[str], folder: Path | None) -> None:
    """Print the tables of probabilities: real sets, a rare class, and a class of 5 % that no input tells."""
    draw = np.random.default_rng(0)
    names = ("breast_cancer", "digits", "wine", "rare")
    data = {name: table for name, table in classes().items() if name in names}
    data["noise, 5 %"] = draw.normal(size=(1500, 5)), draw.permutation(np.arange(1500) < 75).astype(int)
    if folder is not None:
        data = real(folder)
    models = {"frequencies": DummyClassifier, "LogisticRegression": LogisticRegression}
    for name in filter(lambda one: one.endswith("Classifier") and any(word in one for word in only), dir(shallows)):
        models[name.removesuffix("Classifier")] = linked(getattr(shallows.estimators, name))
    print(f"\n| log-loss, calibration error | {' | '.join(data)} |\n|{'---|' * (len(data) + 1)}")
    for name, make in models.items():
        if make is not None:
            found = [score(make(), *table, "Classifier", probabilities=True) for table in data.values()]
            print(f"| {name} | {' | '.join(f'{loss:.3f}, {error:.3f}' for loss, error in found)} |", flush=True)


def main() -> None:
    """Print a table for each task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD")
    parser.add_argument("--probabilities", action="store_true")
    parser.add_argument("--data", type=Path, help="folder of real sets, for --probabilities")
    asked = parser.parse_args()
    only = asked.only
    if asked.probabilities:
        print_probabilities(only, asked.data)
        return
    for ending, (load, others) in TASKS.items():
        data, models = load(), dict(others)
        for name in filter(lambda one: one.endswith(ending), dir(shallows)):
            kind = getattr(shallows.estimators, name)
            seeded = {"random_state": 0} if "random_state" in inspect.signature(kind).parameters else {}
            models[name.removesuffix(ending)] = lambda kind=kind, seeded=seeded: kind(**seeded)
        print(f"\n| {'classification, % right' if others.get('SVC') else 'regression, R²'} | {' | '.join(data)} |")
        print(f"|{'---|' * (len(data) + 1)}")
        for name, make in models.items():
            if name in others or any(word in name for word in only):
                found = [score(make(), *table, ending) for table in data.values()]
                shown = [f"{100 * one:.1f}" if ending == "Classifier" else f"{one:.2f}" for one in found]
                print(f"| {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
