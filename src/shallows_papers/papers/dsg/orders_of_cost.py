"""How preprocessing, training, prediction and storage of four methods grow with the number of examples or of inputs.

Section 6 of Dai et al. (2014): with n = 1/ε examples, doubly stochastic gradients train in O(d/ε²), predict in O(d/ε)
and store O(1/ε) numbers for any d. Here these exponents are measured. Times are ratios within one process, over
rounds in which all sizes take turns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import streams
from shallows.errors import UnknownNameError
from shallows.estimators.doubly_stochastic.dsg_classifier import DoublyStochasticClassifier
from shallows.estimators.feature_maps.fourier import FourierFeatures
from shallows.estimators.feature_maps.landmarks import NystroemFeatures
from shallows.estimators.regularized.regularized_risk import RegularizedRiskClassifier
from shallows.fitting.machine import Options
from shallows.solvers.expansions.doubly_stochastic import DoublyStochastic
from shallows.solvers.regularized.norma import NORMA
from shallows.solvers.regularized.sdca import SDCA
from shallows.training import Observer, Run

from ..results import AnalysisResult
from ..timing import in_turn, processor_seconds

PREDICTED = 2000  # points of the timed prediction
METHODS = ("dsg", "kernel", "fourier", "nystrom")


def orders_of_cost(
    data: Any = None,
    *,
    method: str = "dsg",
    along: str = "n",
    sizes: Sequence[int] = (1000, 2000, 4000),
    n_points: int = 1000,
    n_inputs: int = 20,
    rounds: int = 3,
    random_state: int = 0,
) -> AnalysisResult:
    """Preprocessing, one pass of training, prediction and storage of a method against n or d; ranks grow with n.

    Points are normal numbers, and labels are noisy signs. "dsg" has one block of features for every batch; "kernel" is
    NORMA, "fourier" SDCA on n/2 frequencies and "nystrom" on n/2 landmarks.

    Over the sizes: ``before`` (the first step of the training), ``preprocessing`` (of landmarks and their map),
    ``training`` and ``prediction`` of 2,000 points, all in units of the first size; ``storage``, the bytes that a
    prediction needs without seeds; and ``training_storage``, the bytes that a training needs between two steps without
    seeds and examples: the arrays of a checkpoint, and the points or landmarks of its function. Features that are kept
    to save time are not counted.
    """
    UnknownNameError.check("method", method, METHODS)
    UnknownNameError.check("axis", along, ("n", "d"))
    found: dict[str, dict[int, list[float]]] = {
        name: {size: [] for size in sizes} for name in ("before", "preprocessing", "training", "prediction")
    }
    drawn = {size: _points(*((size, n_inputs) if along == "n" else (n_points, size)), random_state) for size in sizes}
    storage, training_storage = {}, {}
    for turn, size in in_turn(sizes, rounds):
        model, times, remembered = _fitted(method, *drawn[size], random_state)
        points = _bytes_of_points(model)
        storage[size] = float((model.coef_ if hasattr(model, "coef_") else model.dual_coef_).nbytes + points)
        training_storage[size] = float(remembered + points)
        for name, seconds in times.items() if turn else ():
            found[name][size].append(seconds)
    curve = {}
    for name, seconds in found.items():
        first = min(seconds[sizes[0]])
        if first > 0 and not (name == "preprocessing" and method != "nystrom"):
            # Use the shortest round, because other work on the machine can only add time.
            curve[name] = [min(seconds[size]) / first for size in sizes]
    curve["storage"] = [storage[size] for size in sizes]
    curve["training_storage"] = [training_storage[size] for size in sizes]
    return AnalysisResult(list(sizes), curve, effective={"method": method, "along": along, "rounds": rounds})


class _TrainingClock(Observer):
    """Processor time before the first and after the last step of a training, and the bytes of its last checkpoint."""

    def on_start(self, run: Run) -> None:
        self.started = time.process_time()

    def on_end(self, run: Run) -> None:
        self.ended = time.process_time()
        self.remembered = sum(array.nbytes for array in run.state.remember()[0].values())


def _points(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and labels for training, followed by `PREDICTED` of each."""
    x = streams.normal(seed, "growth points", n, (n + PREDICTED, d)).astype(np.float32)
    return x, np.where(x[:, 0] + 0.3 * streams.normal(seed, "growth noise", n, (n + PREDICTED,)) > 0, 1, 0)


def _fitted(method: str, x: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, dict[str, float], int]:
    """A fitted model, its processor seconds, and the bytes of a checkpoint at the end of its training."""
    n, d = len(x) - PREDICTED, x.shape[1]
    same = {"bandwidth": math.sqrt(2.0 * d), "random_state": seed, "fit_intercept": False}
    of_risk = {"regularization": None, "fit_intercept": False, "random_state": seed}
    of_risk |= {"options": Options(device="cpu", dtype="float32")}
    if method == "dsg":
        model = DoublyStochasticClassifier(
            loss="hinge",
            solver=DoublyStochastic(
                schedule="constant",
                step_size=1.0,
                preconditioning=None,
                block_size=50,
                batch_size=50,
                form="cosine",
                max_epochs=1,
            ),
            options=Options(device="cpu", dtype="float32"),
            **same,
        )
    elif method == "kernel":
        solver = NORMA(batch_size=50, max_epochs=1)
        model = RegularizedRiskClassifier(bandwidth=same["bandwidth"], solver=solver, **of_risk)
    else:
        features = {"fourier": FourierFeatures(n_features=n), "nystrom": NystroemFeatures(n_features=n // 2)}[method]
        features.set_params(bandwidth=same["bandwidth"])
        solver = SDCA(batch_size=50, max_epochs=1)
        model = RegularizedRiskClassifier(features=features, solver=solver, **of_risk)
    clock, started = _TrainingClock(), time.process_time()
    model.fit(x[:n], y[:n], observers=[clock])
    timings, preprocessing = model.report_["timings"], 0.0
    if method == "nystrom":
        # Landmarks, their map and its application, by their share of the wall-clock time before the training. Random
        # features are computed during the training.
        mapped = timings["eigensystem"] + timings["kernel_matrix"]
        preprocessing = (clock.started - started) * mapped / (timings["preparation"] + mapped)
    predicted = min(processor_seconds(model.predict, x[n:]) for _ in range(2))
    times = {"before": clock.started - started, "preprocessing": preprocessing, "prediction": predicted}
    return model, {**times, "training": clock.ended - clock.started}, clock.remembered


def _bytes_of_points(model: Any) -> int:
    """Return the bytes of the points, or of the landmarks and their map, that the model's function is computed from."""
    if hasattr(model, "coef_"):
        blocks = model._model.blocks.features
        return sum(v.nbytes for v in vars(blocks).values() if isinstance(v, np.ndarray))
    return model._model.points.nbytes if hasattr(model, "support_") else 0
