"""What growing functions cost: time and memory of an iteration, orders in the number of examples and inputs, bytes.

Section 6 of Dai et al. (2014): with n = 1/ε examples, doubly stochastic gradients train in O(d/ε²), predict in O(d/ε)
and keep O(1/ε) numbers whatever d is. Here these exponents are measured. Times are ratios within one process, over
rounds in which all sizes take turns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import kernels, losses, streams
from ..errors import ShallowsError
from ..features import FourierFeatures
from ..solvers.doubly_stochastic import DoublyStochastic
from ..solvers.examples import Examples
from ..solvers.expansion import ExpansionProblem, ExpansionState
from .cost import medians
from .findings import Findings

PREDICTED = 2000
"""Points that a prediction is timed on."""

METHODS = ("dsg", "kernel", "fourier", "nystrom")


def iterations(
    data: Any = None,
    *,
    along: str = "n_features",
    sizes: Sequence[int] = (1024, 2048, 4096, 8192, 16384),
    n_inputs: int = 100,
    n_features: int = 4096,
    batch_size: int = 32,
    block_size: int = 64,
    rounds: int = 7,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """Time of an iteration of DSG, and what it keeps, against the number of features or of inputs.

    Frequencies are drawn anew in every iteration, as the algorithm is printed.

    Parameters
    ----------
    data
        Not looked at: points are normal numbers.
    along : {"n_features", "n_inputs"}
    sizes : sequence of int
        Its values.
    n_inputs, n_features : int
        d, and m in use, where it is not varied.
    batch_size, block_size : int
        B and F.
    rounds : int

    Returns
    -------
    Findings
        Over the sizes: ``time`` in units of that of the first, ``bytes`` that are kept between iterations,
        ``data_bytes`` that a kernel machine with as many points would keep.
    """
    if along not in ("n_features", "n_inputs"):
        raise ShallowsError(f"along is 'n_features' or 'n_inputs', not {along!r}.")
    work: dict[Any, Callable[[], Any]] = {}
    kept, points = [], []
    for size in sizes:
        m, d = (size, n_inputs) if along == "n_features" else (n_features, size)
        step, state = _step(m, d, batch_size, block_size, random_state)
        work[size] = step
        kept.append(float(sum(array.nbytes for array in state.remember()[0].values())))
        points.append(4.0 * m * (d + 1))
    seconds = medians(work, rounds)
    times = [float(np.median(seconds[size] / seconds[sizes[0]])) for size in sizes]
    told = {"along": along, "batch_size": batch_size, "block_size": block_size, "rounds": rounds}
    return Findings(list(sizes), {"time": times, "bytes": kept, "data_bytes": points}, effective=told)


def _step(m: int, d: int, B: int, F: int, seed: int) -> tuple[Callable[[], None], ExpansionState]:
    """A step of a function of m features that can be made again and again."""
    x = streams.normal(seed, "growth points", 0, (B, d)).astype(np.float32)
    y = np.sign(x[:, :1])
    made = FourierFeatures(kernels.make("gaussian", math.sqrt(2.0 * d)), d, F, seed, form="cosine", cache_bytes=0)
    problem = ExpansionProblem(made, losses.make("logistic"), 1, growth=math.inf)
    solver = DoublyStochastic(1e-3, 0.0, 0.0, preconditioning=None)
    state = ExpansionState.zero(problem, 1e-3, x)
    for _ in range(m // F):
        state.grow(np.full((F, 1), 1e-3, dtype=np.float32), np.zeros(1, dtype=np.float32))

    def step() -> None:
        n_blocks = state.n_blocks
        solver.step(problem, state, Examples(x, y))
        state.n_blocks = n_blocks

    return step, state


def orders(
    data: Any = None,
    *,
    method: str = "dsg",
    along: str = "n",
    sizes: Sequence[int] = (1000, 2000, 4000),
    n_points: int = 1000,
    n_inputs: int = 20,
    rounds: int = 3,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """Preprocessing, one pass of training, prediction and storage of a method against n or d; ranks grow with n.

    Parameters
    ----------
    data
        Not looked at: points are normal numbers with labels of a noisy sign.
    method : {"dsg", "kernel", "fourier", "nystrom"}
        One block of features for every batch; NORMA; SDCA on n/2 frequencies; on n/2 landmarks.
    along : {"n", "d"}
    sizes : sequence of int
    n_points, n_inputs : int
        n and d where they are not varied.
    rounds : int

    Returns
    -------
    Findings
        Over the sizes: ``preprocessing`` (of landmarks and their map), ``training`` and ``prediction`` of 2,000 points,
        all in units of the first size, and ``storage``, bytes of what a prediction needs, seeds aside.
    """
    if method not in METHODS or along not in ("n", "d"):
        raise ShallowsError(
            f"method is one of {', '.join(METHODS)} and along 'n' or 'd', not {method!r} and {along!r}."
        )
    found: dict[str, dict[int, list[float]]] = {
        name: {size: [] for size in sizes} for name in ("preprocessing", "training", "prediction")
    }
    storage = []
    for turn in range(rounds + 1):
        for size in sizes if turn % 2 else list(reversed(sizes)):
            n, d = (size, n_inputs) if along == "n" else (n_points, size)
            model, times = _fitted(method, n, d, random_state)
            if turn:
                for name, seconds in times.items():
                    found[name][size].append(seconds)
            if turn == rounds:
                storage.append((size, _stored(model)))
    curve = {}
    for name, seconds in found.items():
        first = min(seconds[sizes[0]])
        if first > 0 and not (name == "preprocessing" and method != "nystrom"):
            # The shortest of the rounds: what else the machine does only ever adds.
            curve[name] = [min(seconds[size]) / first for size in sizes]
    curve["storage"] = [float(dict(storage)[size]) for size in sizes]
    return Findings(list(sizes), curve, effective={"method": method, "along": along, "rounds": rounds})


def _fitted(method: str, n: int, d: int, seed: int) -> tuple[Any, dict[str, float]]:
    from .. import DoublyStochasticClassifier, NORMAClassifier, SDCAClassifier

    x = streams.normal(seed, "growth points", n, (n + PREDICTED, d)).astype(np.float32)
    y = np.where(x[:, 0] + 0.3 * streams.normal(seed, "growth noise", n, (n + PREDICTED,)) > 0, 1, 0)
    same = {"bandwidth": math.sqrt(2.0 * d), "batch_size": 50, "max_epochs": 1, "random_state": seed, "device": "cpu",
            "dtype": "float32"}  # fmt: skip
    if method == "dsg":
        model = DoublyStochasticClassifier(
            loss="hinge",
            schedule="constant",
            step_size=1.0,
            preconditioning=None,
            features="cosine",
            block_size=50,
            **same,
        )
    elif method == "kernel":
        model = NORMAClassifier(**same)
    else:
        rank = {"fourier": n, "nystrom": n // 2}[method]
        model = SDCAClassifier(features=method, n_features=rank, **same)
    # Processor time, which other work on the machine does not touch; within a fit it is divided as the clock's is.
    started = time.process_time()
    model.fit(x[:n], y[:n])
    spent, timings = time.process_time() - started, model.timings_
    predicted = math.inf
    for _ in range(2):
        started = time.process_time()
        model.predict(x[n:])
        predicted = min(predicted, time.process_time() - started)
    landmarks, features = timings.get("eigensystem", 0.0), timings.get("kernel_matrix", 0.0)
    # Landmarks, their map and its application belong to the preprocessing; random features are made in the training.
    before = landmarks + features if method == "nystrom" else 0.0
    during = timings["training"] + (0.0 if method == "nystrom" else features)
    unit = spent / max(timings.get("preparation", 0.0) + landmarks + features + timings["training"], 1e-9)
    return model, {"preprocessing": before * unit, "training": during * unit, "prediction": predicted}


def _stored(model: Any) -> int:
    """Bytes that a prediction needs beside the seed."""
    if hasattr(model, "coef_"):
        blocks = model._model["blocks"].features
        landmarks = sum(v.nbytes for v in vars(blocks).values() if isinstance(v, np.ndarray))
        return model.coef_.nbytes + landmarks
    if hasattr(model, "support_"):
        return model.dual_coef_.nbytes + model._model["points"].nbytes
    return model.dual_coef_.nbytes


def stored(
    data: Any,
    *,
    n_points: int = 8_100_000,
    n_features: int = 100_000,
    n_outputs: int = 10,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """Bytes of stored random features in double precision, beside what doubly stochastic gradients keep.

    Parameters
    ----------
    data
        Whose points the bytes of a feature vector are measured on.
    n_points, n_features, n_outputs : int
        Of the set that is asked about.

    Returns
    -------
    Findings
        Numbers: ``stored_terabytes`` of the features, ``coefficients_megabytes`` in single precision, their ``ratio``.
    """
    x = np.asarray(data.x_train[:64], dtype=np.float64)
    block = 256
    made = FourierFeatures(kernels.make("gaussian", 1.0), x.shape[1], block, random_state, form="cosine")
    each = made.block(0, x).nbytes / (len(x) * block)
    features, coefficients = each * n_points * n_features, 4.0 * n_features * n_outputs
    numbers = {
        "stored_terabytes": features / 1e12,
        "coefficients_megabytes": coefficients / 1e6,
        "ratio": features / coefficients,
    }
    return Findings([], {}, numbers, {"n_points": n_points, "n_features": n_features, "n_outputs": n_outputs})
