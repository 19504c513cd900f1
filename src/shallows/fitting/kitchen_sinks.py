"""The fit of random kitchen sinks: bounded weights on random units, with a calibration of classes."""

from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, streams
from ..models.functions import TransformedFunction
from ..solvers.least_squares.normal_equations import minimize_in_box
from .calibration import calibrate_judged
from .choices import held_out_spans
from .feature_blocks import FittedOnFeatures, blocks_of_rows, check_room_of_system
from .fit_call import FitCall
from .machine import Phases
from .rows import TrainingSet, class_labels, with_every_class
from .square_targets import SquareClassTargets, learn_square_targets


def fit_kitchen_sinks(
    rows: TrainingSet,
    *,
    of_classes: bool,
    transformer: Any,
    bound: float,
    tol: float,
    max_iterations: int,
    calibrates: bool,
    call: FitCall,
) -> FittedOnFeatures:
    """Fit to checked rows. ``transformer`` is unfitted, draws the hidden units, and has the seed."""
    phases, targets = Phases(), learn_square_targets(rows.y, rows.weights, of_classes=of_classes, in_unit=False)
    codes, scales = targets.encode(rows.y), np.ones(1)
    if not of_classes:
        scales = np.sqrt(np.average(codes**2, axis=0, weights=rows.weights))
        scales = np.where(scales > 0, scales, 1.0)
    n = len(rows.rows)
    total = float(n if rows.weights is None else rows.weights.sum())
    transformer = transformer.fit(rows.X)
    phases.end("features")

    K = transformer._n_features_out
    check_room_of_system(K, "units", call.options.budget(arrays.Device("cpu")))
    gram, moments = np.zeros((K, K)), np.zeros((K, codes.shape[1]))
    root = None if rows.weights is None else np.sqrt(rows.weights)
    for H, T in blocks_of_rows(transformer, rows.X, codes / scales, root):
        H = H.astype(np.float64, copy=False)
        gram += H.T @ H
        moments += H.T @ T
    bound_of_each = float(bound / K)

    def search(gram: np.ndarray, moments: np.ndarray, total: float) -> tuple[np.ndarray, int]:
        """α of every output, shape (c, K), and the most iterations, from sums over rows of a total weight."""
        mean = gram / total
        # With several threads of BLAS, thousands of small products took ten times as long.
        with arrays.one_blas_thread():
            found = [minimize_in_box(mean, column / total, bound_of_each, tol, max_iterations) for column in moments.T]
        return np.stack([weights for weights, _ in found]), max(1, *(steps for _, steps in found))

    alpha, n_iter = search(gram, moments, total)
    at_bound = float(np.mean(np.abs(alpha) >= bound_of_each * (1 - 1e-9)))
    report = {**transformer.report_, "bound": bound_of_each, "at_bound": at_bound}
    model = TransformedFunction(transformer, np.ascontiguousarray(alpha * scales[:, None]))
    if calibrates and isinstance(targets, SquareClassTargets) and (spans := held_out_spans(n, 0, 1)):
        # A second solution leaves some rows out of the sums over all rows.
        m = n - spans[0].start

        def features(some: np.ndarray) -> np.ndarray:
            return transformer.transform(rows.X[some]).astype(np.float64)

        order = streams.permutation(call.seed, "calibration", 0, n)
        labels = class_labels(codes, multilabel=targets.several)
        left_out = np.sort(with_every_class(order, labels, slice(0), [slice(0, m)])[:m])
        H, T = features(left_out), codes[left_out]
        w = np.ones(m) if rows.weights is None else rows.weights[left_out]
        wH = w[:, None] * H
        alpha, _ = search(gram - wH.T @ H, moments - wH.T @ T, total - w.sum())
        calibration = calibrate_judged(
            *(H @ alpha.T, T, None if rows.weights is None else w, np.average(codes > 0, 0, rows.weights), codes),
            outputs_at=lambda some: features(some) @ model.coefficients.T,
            trained_codes=codes,
            multilabel=targets.several,
        )
        targets = replace(targets, calibration=calibration)
        report |= {} if calibration is None else calibration.report()
    phases.end("training")
    return FittedOnFeatures(model, targets, n_iter, report, phases.seconds)
