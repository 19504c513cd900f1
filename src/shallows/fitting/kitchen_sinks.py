"""The fit of random kitchen sinks: bounded weights on random units, with a calibration of classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, streams
from ..models.functions import TransformedFunction
from ..solvers.least_squares.normal_equations import minimize_in_box
from .calibration import Calibration, calibrate_judged
from .choices import held_out_spans
from .feature_blocks import FittedOnFeatures, blocks_of_rows, check_room_of_system
from .machine import Options, Phases
from .rows import TrainingSet, class_labels, with_every_class
from .square_targets import learn_square_targets


@dataclass(frozen=True)
class Search:
    """The search for weights: their bound, and when it stops."""

    bound: float
    tol: float
    max_iterations: int

    def weights(self, gram: np.ndarray, moments: np.ndarray, total: float) -> tuple[np.ndarray, int]:
        """α of every output, shape (c, K), and the most iterations, from sums over rows of a total weight."""
        mean = gram / total
        # With several threads of BLAS, thousands of small products took ten times as long.
        with arrays.one_blas_thread():
            found = [
                minimize_in_box(mean, column / total, self.bound, self.tol, self.max_iterations) for column in moments.T
            ]
        return np.stack([weights for weights, _ in found]), max(1, *(steps for _, steps in found))


def fit_kitchen_sinks(
    rows: TrainingSet,
    *,
    of_classes: bool,
    transformer: Any,
    bound: float,
    tol: float,
    max_iterations: int,
    calibrates: bool,
    class_weight: Any,
    seed: int,
    options: Options,
) -> FittedOnFeatures:
    """Fit to checked rows; ``transformer`` are unfitted hidden units with the seed."""
    phases, of_targets = Phases(), {"of_classes": of_classes, "class_weight": class_weight}
    targets = learn_square_targets(rows.y, rows.weights, **of_targets, in_unit=False)
    codes, scales = targets.encode(rows.y), np.ones(1)
    if not of_classes:
        scales = np.sqrt(np.average(codes**2, axis=0, weights=rows.weights))
        scales = np.where(scales > 0, scales, 1.0)
    total = float(len(rows.rows) if rows.weights is None else rows.weights.sum())
    transformer = transformer.fit(rows.X)
    phases.end("features")

    K = transformer._n_features_out
    check_room_of_system(K, "units", options.budget(arrays.Device("cpu")))
    gram, moments = np.zeros((K, K)), np.zeros((K, codes.shape[1]))
    root = None if rows.weights is None else np.sqrt(rows.weights)
    for H, T in blocks_of_rows(transformer, rows.X, codes / scales, root):
        H = H.astype(np.float64, copy=False)
        gram += H.T @ H
        moments += H.T @ T
    search = Search(float(bound / K), tol, max_iterations)
    alpha, n_iter = search.weights(gram, moments, total)
    at_bound = float(np.mean(np.abs(alpha) >= search.bound * (1 - 1e-9)))
    report = {**transformer.report_, "bound": search.bound, "at_bound": at_bound}
    model = TransformedFunction(transformer, np.ascontiguousarray(alpha * scales[:, None]))
    if calibrates:
        calibration = learn_calibration(rows, codes, model, search, gram, moments, seed, several=targets.several)
        targets = replace(targets, calibration=calibration)
        report |= {} if calibration is None else calibration.report()
    phases.end("training")
    return FittedOnFeatures(model, targets, n_iter, report, phases.seconds)


def learn_calibration(
    rows: TrainingSet,
    codes: np.ndarray,
    model: TransformedFunction,
    search: Search,
    gram: np.ndarray,
    moments: np.ndarray,
    seed: int,
    *,
    several: bool,
) -> Calibration | None:
    """Learn a calibration on rows that a second solution leaves out of the sums over all rows."""
    n, weights, transformer = len(rows.rows), rows.weights, model.transformer
    spans = held_out_spans(n, 0, 1)
    if not spans:
        return None
    m = n - spans[0].start

    def features(some: np.ndarray) -> np.ndarray:
        return transformer.transform(rows.X[some]).astype(np.float64)

    order, labels = streams.permutation(seed, "calibration", 0, n), class_labels(codes, multilabel=several)
    left_out = np.sort(with_every_class(order, labels, slice(0), [slice(0, m)])[:m])
    H, T = features(left_out), codes[left_out]
    w = np.ones(m) if weights is None else weights[left_out]
    rest = float(n if weights is None else weights.sum()) - w.sum()
    wH = w[:, None] * H
    alpha, _ = search.weights(gram - wH.T @ H, moments - wH.T @ T, rest)
    of_rows, shares = None if weights is None else w, np.average(codes > 0, 0, weights)

    def outputs_at(some: np.ndarray) -> np.ndarray:
        return features(some) @ model.coefficients.T

    of_model = {"outputs_at": outputs_at, "trained_codes": codes, "multilabel": several}
    return calibrate_judged(H @ alpha.T, T, of_rows, shares, codes, **of_model)
