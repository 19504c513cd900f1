"""The defaults of the machines for many rows on the digits of MNIST and on Friedman's function, beside scikit-learn's.

``SHALLOWS_MIRROR=FOLDER python benchmarks/growing_defaults.py`` fits each at its defaults to 60,000 digits and prints
processor seconds, wall seconds and the test error; ``--friedman 100000`` so many rows of Friedman 1 with noise of
variance 1 instead, and the mean squared error on 20,000 further rows. ``--only`` names some of them.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline

import shallows
from shallows import arrays, datasets

ROOT = Path(__file__).resolve().parents[1]
OURS = ("EigenPro", "EigenProCentres", "FeatureRidge", "FeatureEigenPro")
TOLD = ("n_components", "n_centres", "n_features", "n_epochs", "kept_fraction", "bandwidth", "regularisation", "ridge")


def main() -> None:
    """Fit what is asked for, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--friedman", type=int, help="rows of Friedman 1 in the place of the digits")
    parser.add_argument("--only", nargs="+", choices=(*OURS, "pipeline"), default=(*OURS, "pipeline"))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    X, y, X_test, y_test = friedman(asked.friedman) if asked.friedman else digits()
    print(f"{len(X):,} rows of {X.shape[1]} inputs, {arrays.n_threads()} threads")
    for name in asked.only:
        model = made(name, asked.seed, values=bool(asked.friedman))
        processor, wall = time.process_time(), time.perf_counter()
        model.fit(X, y)
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        found = model.predict(X_test)
        error = np.mean((found - y_test) ** 2) if asked.friedman else 100 * np.mean(found != y_test)
        told = {key: value for key, value in getattr(model, "effective_params_", {}).items() if key in TOLD}
        print(f"{name}: {processor:.1f} s of the processor, {wall:.1f} s, error {error:.3f}; {told}", flush=True)


def made(name: str, seed: int, *, values: bool) -> Any:
    """An estimator at its defaults, or scikit-learn's pipeline of 5,000 random features."""
    if name != "pipeline":
        return getattr(shallows, name + ("Regressor" if values else "Classifier"))(random_state=seed)
    gamma = 0.3 if values else 0.02
    return make_pipeline(
        RBFSampler(n_components=5000, gamma=gamma, random_state=seed), Ridge() if values else RidgeClassifier()
    )


def digits() -> tuple[np.ndarray, ...]:
    """MNIST with pixels in [0, 1]."""
    place = ROOT / "data" / "prepared" / "mnist" / "growing-defaults"
    if not (place / "prepared.json").exists():
        datasets.prepare("mnist", datasets.fetch("mnist", ROOT / "data" / "raw"), place, [{"unit": {}}])
    held = datasets.load(place)
    return tuple(np.asarray(part) for part in (held.x_train, held.y_train, held.x_test, held.y_test))


def friedman(n: int) -> tuple[np.ndarray, ...]:
    """Rows of Friedman 1 with ten inputs, and 20,000 for the test."""
    X, y = make_friedman1(n + 20_000, n_features=10, noise=1.0, random_state=0)
    return X[:n], y[:n], X[n:], y[n:]


if __name__ == "__main__":
    main()
