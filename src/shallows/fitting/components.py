"""What the fits of components share: views and their features, the size of steps, and the model that a stream needs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .. import arrays, kernels, streams, training
from ..arrays import Array, Device
from ..features.fourier import FourierMap
from ..kernels import Kernel
from ..models.centering import Centering, check_precision, check_scale
from ..solvers.examples import Examples
from .machine import Options
from .snapshot import ComponentSnapshot
from .stream_training import Batch

SAMPLE = 2000
"""Points that the start is computed from. The bandwidth is computed from 1,000 of them."""

MOMENT_ROWS = 20_000
"""Training points for the moments of the fitted functions, which are computed after the last step."""

# ------------------------------------------------------------------------------------ codings of the second view


@dataclass(frozen=True)
class NotCoded:
    """There is no second view, or its coding is not known yet."""

    def encode(self, Y: Any) -> None:
        """None."""


@dataclass(frozen=True)
class ViewColumns:
    """The columns of a second view of points, or numeric targets, divided by their deviations ``scale``, shape (c,)."""

    name: str
    n_columns: int
    scale: np.ndarray | None = None

    def encode(self, Y: Any) -> np.ndarray:
        """The columns with a row for each example, shape (n, c)."""
        Y = np.asarray(Y)
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != self.n_columns:
            raise ValueError(f"{self.name} has {Y.shape[1]} columns, and the model was begun with {self.n_columns}.")
        return Y if self.scale is None else Y / self.scale


@dataclass(frozen=True)
class Labels:
    """Labels of some classes as ones and zeros."""

    classes: np.ndarray

    def encode(self, Y: Any) -> np.ndarray:
        """A column for each class, shape (n, k)."""
        y = np.asarray(Y).ravel()
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise ValueError(f"y holds the label {str(unknown[0])!r}, which is not among {self.classes.tolist()}.")
        return (y[:, None] == self.classes).astype(np.float64)


# ----------------------------------------------------------------------------------------------- plan and model


@dataclass(frozen=True)
class View:
    """One view of the examples: its centering, its features, and the sample that chose them."""

    centering: Centering
    features: Any
    sample: np.ndarray | None  # (m, d), float64: centered points; None in a fitted model

    def points(self, X: Any, rows: np.ndarray, device: Device, dtype: Any) -> Array:
        """Points in the form that the features need, shape (len(rows), d)."""
        found = self.centering.training_points(X, rows, device, dtype)[:, :-2]
        return found if device.kind == "cpu" else arrays.contiguous(found)


@dataclass(frozen=True)
class ComponentPlan:
    """What is chosen before a training of components."""

    views: tuple[View, ...]
    targets: Any  # the coding of the second view: NotCoded, ViewColumns or Labels
    stepper: Any
    problem: Any  # without training points after the fit
    batch_size: int
    dtype: np.dtype
    seed: int
    report: dict[str, Any]  # entries of ``report_``


@dataclass(frozen=True)
class TrainedComponents:
    """Base of components with what a stream needs to continue: their plan, and the state of the stepper."""

    plan: ComponentPlan
    state: Any
    sample: ClassVar[None] = None

    def functions_at(self, state: Any) -> Any:
        """The functions at a state of the stepper; they refer to its arrays."""
        raise NotImplementedError

    def snapshot(self, state: Any, epoch: int, options: Options, device: Device) -> ComponentSnapshot:
        """The functions that belong to a state of the stepper, as observers get them."""
        return ComponentSnapshot(self.functions_at(state), state, epoch, device)

    @property
    def functions(self) -> Any:
        """The functions of the model, see `shallows.models.component_functions`."""
        return self.functions_at(self.state)

    @property
    def rows_of_step(self) -> int:
        """The least number of rows of a step on a stream."""
        return self.plan.batch_size

    def on(self, device: Device) -> Self:
        """The model with its coefficients on a device."""
        return self if self.state.device == device else replace(self, state=self.state.to(device))

    def on_host(self) -> Self:
        """The model on the host, for a file."""
        state = self.state.to(Device("cpu"))
        return replace(self, state=state.trimmed() if hasattr(state, "trimmed") else state)

    def examples(self, rows: Batch, device: Device) -> Examples:
        """Checked rows of a stream in the form that the stepper needs."""
        plan, numbers = self.plan, np.arange(rows[0].shape[0])
        parts = (rows[0], plan.targets.encode(rows[1]))
        points = [view.points(part, numbers, device, plan.dtype) for view, part in zip(plan.views, parts, strict=False)]
        return Examples(points[0], second_view=points[1] if len(points) > 1 else None)

    def add_to_sample(self, sample: None, batch: Examples, number: int) -> None:
        """None: components need no sample of the batches."""

    def finish(self, state: Any, sample: None) -> Self:
        """The model at the end of a call on a stream."""
        return replace(self, state=state)

    def report(self, run: training.Run) -> dict[str, Any]:
        """Entries of ``report_``."""
        n_blocks, size = getattr(run.state, "n_blocks", None), {}
        if n_blocks is not None:
            block_size = self.plan.views[0].features.block_size
            size = {"n_blocks": n_blocks, "n_random_features": n_blocks * block_size}
        return self.plan.report | size | {"n_steps": run.state.n_steps, "stopped_by": run.stopped_by}


# ------------------------------------------------------------------------------------------- choices before a fit


def look_at(
    arrays_of_views: tuple[Any, ...],
    kernels_of_views: Sequence[Kernel],
    *,
    block_size: int | None,
    most: int,
    orthogonal: bool | None,
    seed: int,
    dtype: np.dtype,
    budget: int,
    room: int,
) -> tuple[View, ...]:
    """Choose kernel and features of each view, and check that a block of features fits into the memory.

    The median rule chooses the bandwidth of open kernels. A block has at most ``most`` frequencies, unless
    ``block_size`` is given; ``room`` are the bytes for features and frequencies.
    """
    n, n_views, views = arrays_of_views[0].shape[0], len(arrays_of_views), []
    for place, (X, kernel) in enumerate(zip(arrays_of_views, kernels_of_views, strict=True)):
        d, place_seed = X.shape[1], seed + place  # The views have different random numbers.
        centering = Centering.of(X, without_constants=False)
        rows = streams.permutation(place_seed, "first look", 0, n)[:SAMPLE]
        sample = centering.training_points(X[rows], np.arange(len(rows)), Device("cpu"), np.dtype("float64"))
        all_equal = bool((sample == sample[0]).all())
        check_scale(sample, sample.dtype, may_vanish=all_equal)
        sample = np.ascontiguousarray(sample[:, :-2])
        if kernel.is_open:
            equal = all_equal or centering.all_equal
            kernel = kernel.with_bandwidth(
                1.0 if equal else kernels.median_bandwidth(sample, place_seed, kernel=kernel)
            )
        # In one dimension there are no orthogonal directions.
        right_angles = d > 1 and kernel.of_distance if orthogonal is None else orthogonal
        F = block_size or min(default_block_size(n, d, right_angles), most)
        features = FourierMap(kernel, d, F, place_seed, orthogonal=right_angles, cache_bytes=room // (2 * n_views))
        views.append(View(centering, features, sample))
        check_precision(sample, dtype)
        width, n_rows = features.width, len(sample)
        arrays.check_room(
            f"A block of {features.block_size:,} frequencies takes",
            # The start needs the features of the sample, and for two views their covariances.
            8 * width * (n_rows + sample.shape[1] + (6 * width if n_views > 1 else 0)),
            budget,
            "Take a smaller block_size, or give more memory.",
        )
    return tuple(views)


def default_block_size(n: int, d: int, orthogonal: bool) -> int:
    """F: 512, or less for few points; a multiple of d for sets of d orthogonal frequencies if that is close."""
    F = min(512, max(32, 2 ** math.ceil(math.log2(max(1.0, n / 8)))))
    return d * max(1, F // d) if orthogonal and d <= 2 * F else F


def even_batch_size(n: int, given: int | None, default: int) -> int:
    """The rows of a step on n rows; the default grows if the last batch would have less than a tenth of it.

    A step with few rows adds noise, and a regression in a block's features would undo the other steps.
    """
    size = min(n, given or default)
    return math.ceil(n / (n // size)) if not given and 0 < n % size < size / 10 else size
