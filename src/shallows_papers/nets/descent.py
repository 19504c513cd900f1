"""Gradient descent with momentum on the weights of a net: problem, state and solver for `shallows.training`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import layers
from .architectures import Architecture
from .backend import torch
from .inputs import Coding


@dataclass(frozen=True)
class NetProblem:
    """The training data of a net, with PyTorch's device and dtype."""

    x: Any  # (n, d): rows as given; a memory map is read batch by batch
    targets: np.ndarray  # (n,) of int64 or (n, c): class numbers, or values
    order: np.ndarray  # (n,): batches are slices of this order of the rows
    architecture: Architecture
    coding: Coding
    n_outputs: int
    seed: int
    device: Any
    dtype: Any

    def loss(self, scores: Any, targets: Any) -> tuple[Any, float]:
        """Return the loss of these scores and of zero scores, each summed over a batch.

        The loss is the cross-entropy of the softmax for class numbers, and half the square loss for values.
        """
        if targets.is_floating_point():
            return 0.5 * ((scores - targets) ** 2).sum(), 0.5 * float((targets**2).sum())
        loss = torch().nn.functional.cross_entropy(scores, targets, reduction="sum")
        return loss, len(targets) * float(np.log(scores.shape[1]))

    def to_device(self, values: np.ndarray) -> Any:
        """Move values to the device of the weights; floats get the precision of the weights."""
        tensor = torch().from_numpy(np.ascontiguousarray(values)).to(self.device)
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor


@dataclass
class NetState:
    """Weights and velocities by name, and the number of steps."""

    weights: dict[str, Any]
    velocities: dict[str, Any]
    step_size: float
    n_steps: int = 0
    loss: float = 0.0
    zero_loss: float = 0.0
    to_device: Callable[[np.ndarray], Any] = field(default=lambda values: values, repr=False)

    def monitored(self) -> tuple[float, float]:
        """Return the loss of the last batch and the loss of zero scores."""
        return self.loss, self.zero_loss

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return copies of the state, as `shallows.training` needs them."""
        held = {f"weight.{name}": value.detach().cpu().numpy().copy() for name, value in self.weights.items()}
        held |= {f"velocity.{name}": value.cpu().numpy().copy() for name, value in self.velocities.items()}
        return held, {"n_steps": self.n_steps}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Restore a state from `remember`."""
        for name in self.weights:
            self.weights[name] = self.to_device(held[f"weight.{name}"].copy()).requires_grad_()
            self.velocities[name] = self.to_device(held[f"velocity.{name}"].copy())
        self.n_steps = numbers["n_steps"]

    def is_finite(self) -> bool:
        """Whether all weights are finite."""
        return all(bool(torch().isfinite(value).all()) for value in self.weights.values())


@dataclass(frozen=True)
class MomentumDescent:
    """v ← μ v − ε (g + δ w), w ← w + v, with g the mean gradient over a batch.

    References
    ----------
    The rule, and steps divided by ten near the end, come from cuda-convnet.
    """

    step_size: float  # ε
    momentum: float = 0.9  # μ
    weight_decay: float = 0.0  # δ; none on biases
    smaller_after: tuple[int, ...] = ()  # Numbers of steps after each of which ε is divided by ten

    def init(self, problem: NetProblem) -> NetState:
        """Return random weights and zero velocities."""
        first = layers.first_weights(problem.architecture, problem.coding.shape, problem.n_outputs, problem.seed)
        weights = {name: problem.to_device(value).requires_grad_() for name, value in first.items()}
        velocities = {name: torch().zeros_like(value, requires_grad=False) for name, value in weights.items()}
        return NetState(weights, velocities, self.step_size, to_device=problem.to_device)

    def step(self, problem: NetProblem, state: NetState, batch: slice) -> NetState:
        """Run one step on a batch; ``loss`` is the loss before the step."""
        rows = problem.order[batch]
        x = problem.coding.random_pieces(problem.x[rows], problem.seed, state.n_steps)
        scores = layers.scores(problem.architecture, state.weights, problem.to_device(x))
        loss, state.zero_loss = problem.loss(scores, problem.to_device(problem.targets[rows]))
        state.loss = float(loss.detach())
        gradients = torch().autograd.grad(loss / len(rows), list(state.weights.values()))
        step_size = state.step_size * 0.1 ** sum(state.n_steps >= after for after in self.smaller_after)
        with torch().no_grad():
            for (name, weight), gradient in zip(state.weights.items(), gradients, strict=True):
                velocity = state.velocities[name].mul_(self.momentum).add_(gradient, alpha=-step_size)
                if self.weight_decay and name.endswith("weight"):
                    velocity.add_(weight, alpha=-step_size * self.weight_decay)
                weight.add_(velocity)
        state.n_steps += 1
        return state
