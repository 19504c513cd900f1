"""Components with what a stream needs to go on with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .. import arrays, training
from ..arrays import Array, Device
from ..models.centring import Centring
from ..solvers.examples import Examples
from .machine import Options
from .snapshot import ComponentSnapshot
from .waiting_rows import Batch


@dataclass(frozen=True)
class View:
    """One view of the examples: how its points are brought into shape, and its features.

    Attributes
    ----------
    centring : Centring
    features : FourierFeatures or Blocks
    sample : ndarray of float64, shape (m, d), or None
        Centred points that were looked at first; None once a model is fitted.
    """

    centring: Centring
    features: Any
    sample: np.ndarray | None

    def points(self, X: Any, rows: np.ndarray, device: Device, dtype: Any) -> Array:
        """Points as the features take them, shape (len(rows), d)."""
        found = self.centring.training_points(X, rows, device, dtype)[:, :-2]
        return found if device.kind == "cpu" else arrays.contiguous(found)


@dataclass(frozen=True)
class ComponentPlan:
    """What is chosen before a training of components.

    Attributes
    ----------
    views : tuple of View
    targets
        How the second view is coded, see `shallows.fitting.second_view`.
    stepper, problem
        What is trained; the problem of a stream has no training set.
    batch_size : int
    dtype : dtype
    seed : int
    report : dict
        What was chosen where a parameter left it open.
    """

    views: tuple[View, ...]
    targets: Any
    stepper: Any
    problem: Any
    batch_size: int
    dtype: np.dtype
    seed: int
    report: dict[str, Any]


@dataclass(frozen=True)
class TrainedComponents:
    """Base of components with what a stream needs to go on with them.

    Attributes
    ----------
    plan : ComponentPlan
    state
        Of the stepper.
    """

    plan: ComponentPlan
    state: Any
    sample: ClassVar[None] = None

    def functions_at(self, state: Any) -> Any:
        """The functions at a state of the stepper; they refer to its arrays."""
        raise NotImplementedError

    def snapshot(self, state: Any, epoch: int, options: Options, device: Device) -> ComponentSnapshot:
        """The functions at a state on a stream, for observers."""
        return ComponentSnapshot(self.functions_at(state), state, epoch, device)

    @property
    def functions(self) -> Any:
        """The functions of the model, see `shallows.models.component_functions`."""
        return self.functions_at(self.state)

    @property
    def rows_of_step(self) -> int:
        """How many rows of a stream a step has at least."""
        return self.plan.batch_size

    def on(self, device: Device) -> Self:
        """The same with its coefficients on a device."""
        return self if self.state.device == device else replace(self, state=self.state.to(device))

    def kept(self) -> Self:
        """The same on the host, as a file holds it."""
        state = self.state.to(Device("cpu"))
        return replace(self, state=state.trimmed() if hasattr(state, "trimmed") else state)

    def examples(self, rows: Batch, device: Device) -> Examples:
        """Checked rows of a stream as the stepper takes them."""
        plan, numbers = self.plan, np.arange(rows[0].shape[0])
        parts = (rows[0], plan.targets.encode(rows[1]))
        points = [view.points(part, numbers, device, plan.dtype) for view, part in zip(plan.views, parts, strict=False)]
        return Examples(points[0], second_view=points[1] if len(points) > 1 else None)

    def sampled(self, sample: None, batch: Examples, number: int) -> None:
        """Nothing is kept of the batches."""

    def settled(self, state: Any, sample: None) -> Self:
        """The model at the end of a call on a stream."""
        return replace(self, state=state)

    def report(self, run: training.Run) -> dict[str, Any]:
        """Entries of ``effective_params_``: what was chosen, and how the training went."""
        return self.plan.report | {"n_steps": run.state.n_steps, "stopped_by": run.stopped_by}


class GrownComponents(TrainedComponents):
    """Base of components over features that grow by a block in every step."""

    def report(self, run: training.Run) -> dict[str, Any]:
        """Entries of ``effective_params_``: what was chosen, and how the training went."""
        state, block_size = run.state, self.plan.views[0].features.block_size
        size = {"n_blocks": state.n_blocks, "n_random_features": state.n_blocks * block_size}
        return self.plan.report | size | {"n_steps": state.n_steps, "stopped_by": run.stopped_by}
