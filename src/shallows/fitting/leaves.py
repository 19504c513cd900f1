"""The fit of one machine for each leaf of a tree, in time that grows with the rows and not with their square.

Rows are split at the median of the column with the largest variance after the learned metric, until a leaf has at most
``leaf_size`` rows. Rows near a border belong to both sides, and the predictions of both are blended there. The metric
is that of all rows; bandwidth and λ are those of the leaf. xRFM splits along directions of the metric, too: D.
Beaglehole, D. Holzmüller, A. Radhakrishnan and M. Belkin (2025), "xRFM: accurate, scalable, and interpretable feature
learning models for tabular data".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, streams
from ..errors import ShallowsError
from ..kernels import Kernel
from ..models.leaf_machines import LeafMachines, LeafTree, share_of_second
from ..solvers.least_squares.kernel_problem import KernelSolver
from .calibration import LeftOut, learn_calibration
from .choices import MOST_HELD_OUT, Choices, choose_kernel_and_inputs
from .fit_call import FitCall, FittedFunction
from .kernel_ridge import fit_kernel_ridge
from .machine import Options, Phases
from .metric import Metric
from .rows import TrainingSet
from .solver_choice import choose_for_rows
from .square_targets import SquareClassTargets, SquareTargets, learn_square_targets

OVERLAP = 0.05
"""Rows within this share of a split's rows on either side of its median belong to both children. On Friedman 1 with
16,000 rows and four leaves, the error without noise is 1.6 times that of one machine without overlap, and 1.1 times
with it. On Covertype it makes no difference."""

LARGEST_CHILD = 0.8
"""A column splits rows if no child has a larger share of them. A column with few values may not."""

SAMPLE = 10_000
"""The most rows of a split that choose its column and its borders."""

ROWS = 2**16
"""Rows that are read at a time."""

EQUAL = 1000
"""The most rows of a leaf with equal targets."""

LEAST_SECONDS = 1e-3
"""A leaf has at least this limit, because a limit is positive."""


def fit_leaves(
    rows: TrainingSet,
    *,
    leaf_size: int,
    of_classes: bool,
    kernel: Kernel,
    chooses_kernel: bool,
    searches_bandwidth: bool,
    n_components: int | str | None,
    metric: Metric | None,
    regularization: float | str,
    calibrates: bool,
    solver: KernelSolver | None,
    call: FitCall,
) -> FittedFunction:
    """Fit to checked dense rows. Classes are learned as codes, so a leaf needs no row of every class."""
    if scipy.sparse.issparse(rows.X):
        raise ShallowsError("leaf_size needs dense rows, and X is sparse. Set leaf_size=None, or pass X.toarray().")
    seed, options, phases = call.seed, call.options, Phases()
    targets = learn_square_targets(rows.y, rows.weights, of_classes=of_classes)
    codes, budget = targets.encode(rows.y), options.budget(options.fit_device())
    kernel, components = choose_kernel_and_inputs(
        *(None if chooses_kernel else kernel, metric, n_components, rows, codes, seed, budget),
        searches_bandwidth=searches_bandwidth,
    )
    tree, members = grow_tree(rows.X if components is None else components(rows.X), leaf_size, seed)
    members, outputs = select_outputs(codes, members)
    phases.end("preparation")
    seconds, fits = Counter(phases.seconds), list[FittedFunction]()
    for leaf, own in enumerate(members):
        of_leaf = rows.take(own)._replace(y=codes[np.ix_(own, outputs[leaf])])
        settings = solver or choose_for_rows(of_leaf, options, of_classes=False, in_epochs=False, all_points=True)
        seconds_left = None
        if options.max_seconds is not None:
            seconds_left = max(LEAST_SECONDS, (options.max_seconds - seconds.total()) / (len(members) - leaf))
        fits.append(
            fit_kernel_ridge(
                of_leaf,
                of_classes=False,
                kernel=kernel,
                chooses_kernel=False,
                searches_bandwidth=searches_bandwidth,
                n_components=None,
                metric=components,
                regularization=regularization if settings.takes_ridge else None,
                calibrates=calibrates,
                solver=settings,
                call=replace(call, options=replace(options, max_seconds=seconds_left)),
            )
        )
        seconds.update(fits[-1].seconds)
    constants = codes[[own[0] for own in members]]
    for leaf, one in enumerate(fits):
        constants[leaf, outputs[leaf]] = one.targets.intercept
    machines = tuple(replace(one.model, coefficients=scaled(one)) for one in fits)
    of_model = constants.astype(machines[0].coefficients.dtype)
    model = LeafMachines(tree, machines, tuple(outputs), of_model, components)
    report, left_out = report_of_leaves(fits), None
    if calibrates:
        left_out = join_left_out(fits, rows, members, outputs, constants, targets)
    if isinstance(targets, SquareClassTargets):
        phases = Phases()
        targets = calibrate(targets, rows, codes, model, left_out, options)
        phases.end("calibration")
        seconds.update(phases.seconds)
        report |= {} if targets.calibration is None else targets.calibration.report()
    run = max((one.run for one in fits), key=lambda run: run.epoch)
    support = np.concatenate([one.support for one in fits if one.support is not None])
    return FittedFunction(model, targets, support, run, report, dict(seconds), None, left_out)


def select_outputs(codes: np.ndarray, members: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The rows and the columns of the codes that the function of each leaf is fitted to.

    These are the columns that vary in the leaf. In a leaf with equal codes, such as one class, no column varies,
    and a few rows of one column are enough.
    """
    varying = [np.flatnonzero((codes[own] != codes[own[0]]).any(axis=0)) for own in members]
    of_fit = [own if len(outputs) else own[:EQUAL] for own, outputs in zip(members, varying, strict=True)]
    return of_fit, [outputs if len(outputs) else np.array([0]) for outputs in varying]


def calibrate(
    targets: SquareClassTargets,
    rows: TrainingSet,
    codes: np.ndarray,
    model: LeafMachines,
    left_out: LeftOut | None,
    options: Options,
) -> SquareClassTargets:
    """The targets with one calibration of all leaves."""
    device = options.fit_device()

    def outputs_at(some: np.ndarray) -> np.ndarray:
        return model.scores(rows.X[some], device, options.prediction_budget(device, share=2))

    return learn_calibration(targets, rows, codes, np.arange(len(codes)), left_out, outputs_at, Choices())


def grow_tree(points: Any, leaf_size: int, seed: int) -> tuple[LeafTree, list[np.ndarray]]:
    """Split points (n, d) until each leaf has at most ``leaf_size``; also the rows of each leaf.

    A leaf is larger if no column can split it.
    """
    splits, leaves = list[list[Any]](), list[np.ndarray]()

    def add(members: np.ndarray) -> int:
        """Split some rows, and return the number of the node."""
        split = choose_split(points, members, seed) if len(members) > leaf_size else None
        if split is not None:
            column, low, high = split
            share = share_of_second(values_of(points, members, column), low, high)
            first, second = members[share < 1.0], members[share > 0.0]
            if max(len(first), len(second)) < len(members):
                splits.append([column, low, high, 0, 0])
                own = splits[-1]
                node = len(splits) - 1
                own[3:] = add(first), add(second)
                return node
        leaves.append(members)
        return -len(leaves)

    add(np.arange(points.shape[0]))
    table = np.array(splits).reshape(-1, 5)
    columns, children = table[:, 0].astype(np.int64), table[:, 3:].astype(np.int64)
    return LeafTree(columns, table[:, 1:3], children, len(leaves)), leaves


def choose_split(points: Any, members: np.ndarray, seed: int) -> tuple[int, float, float] | None:
    """A column and the borders of a split of some rows, or None if no column splits them.

    It is the column with the largest variance of those that split a sample of the rows into shares that are not too
    different. The borders are the values between which the rows near the median lie, or equal if many values are.
    """
    few = members[streams.permutation(seed, "rows that choose a split", len(members), len(members))[:SAMPLE]]
    z = np.asarray(points[np.sort(few)], dtype=np.float64)
    for column in np.argsort(-z.var(axis=0), kind="stable"):
        values = z[:, column]
        low, middle, high = np.quantile(values, [0.5 - OVERLAP, 0.5, 0.5 + OVERLAP], method="lower")
        below = values[values < middle]
        for borders in ((low, high), (middle, middle), *(((below.max(),) * 2,) if len(below) else ())):
            share = share_of_second(values, *borders)
            if max((share < 1.0).mean(), (share > 0.0).mean()) <= LARGEST_CHILD:
                return int(column), float(borders[0]), float(borders[1])
    return None


def values_of(points: Any, members: np.ndarray, column: int) -> np.ndarray:
    """A column of some rows, read block by block."""
    blocks = arrays.blocks(len(members), ROWS)
    return np.concatenate([np.asarray(points[members[rows]])[:, column] for rows in blocks])


def scaled(one: FittedFunction) -> np.ndarray:
    """The coefficients of a leaf's function in the unit of its targets."""
    a = one.model.coefficients
    return a * one.targets.scale.astype(a.dtype)


def join_left_out(
    fits: Sequence[FittedFunction],
    rows: TrainingSet,
    members: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    constants: np.ndarray,
    targets: SquareTargets,
) -> LeftOut | None:
    """The left-out rows of all leaves with all outputs, in the units of the targets; None if a leaf has none."""
    scores, places = [], []
    for leaf, one in enumerate(fits):
        own = one.left_out
        if own is None or own.places is None or own.of_distant_model is not None:
            return None
        some = slice(0, MOST_HELD_OUT)
        scores.append(np.repeat(constants[[leaf]], len(own.places[some]), axis=0))
        scores[-1][:, outputs[leaf]] = own.scores[some]
        places.append(members[leaf][own.places[some]])
    of_rows = np.concatenate(places)
    weights = None if rows.weights is None else rows.weights[of_rows]
    return LeftOut(targets.unscale(np.concatenate(scores)), rows.y[of_rows], weights, of_rows)


def report_of_leaves(fits: Sequence[FittedFunction]) -> dict[str, Any]:
    """The entries of ``report_`` that all leaves have: one value if it is the same for all, otherwise a list."""
    report: dict[str, Any] = {"n_leaves": len(fits), "leaf_rows": [len(one.model.coefficients) for one in fits]}
    for name, first in fits[0].report.items():
        if all(name in one.report for one in fits):
            values = [one.report[name] for one in fits]
            report[name] = first if all(value == first for value in values) else values
    return report
