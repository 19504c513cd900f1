"""Gradient descent with momentum on the weights of a net: problem, state and solver for `shallows.training`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows import arrays, streams

from . import layers
from .architectures import Architecture, Shape
from .backend import torch


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


_ROWS = 1024


@dataclass(frozen=True)
class Coding:
    """Converts rows of features to inputs of a net's first layer.

    ``columns, values`` (k,): if there are steps, input i is tanh((x[columns[i]] - values[i]) / width).
    """

    shape: Shape  # Shape of one example before cutting: (channels, height, width) or (inputs,)
    columns: np.ndarray | None
    values: np.ndarray | None
    width: float | None
    mean: np.ndarray  # (inputs,): of the training data
    # Root mean square of the centered training data over all inputs. A single number, so that inputs with small
    # variance are not enlarged.
    scale: float
    crop: int | None

    @classmethod
    def of(cls, x: np.ndarray, shape: Shape, architecture: Architecture) -> Coding:
        """Compute mean and scale of the training rows in blocks."""
        columns = values = None
        if architecture.steps is not None:
            largest = np.max([block.max(axis=0) for block in _blocks(x)], axis=0)
            counts = np.maximum(np.ceil(largest / architecture.steps), 0).astype(int) + 1
            columns = np.repeat(np.arange(len(largest)), counts)
            values = np.concatenate([np.arange(count) for count in counts]) * architecture.steps
            shape = (len(columns),)
        raw = cls(shape, columns, values, architecture.steps, np.zeros(1), 1.0, architecture.crop)
        mean = sum(raw._coded(block).sum(axis=0) for block in _blocks(x)) / len(x)
        square = sum(((raw._coded(block) - mean) ** 2).sum() for block in _blocks(x)) / (len(x) * len(mean))
        # If all rows are equal, there is nothing to scale.
        scale = float(np.sqrt(square)) or 1.0
        return cls(shape, columns, values, architecture.steps, mean, scale, architecture.crop)

    def _coded(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        return x if self.columns is None else np.tanh((x[:, self.columns] - self.values) / self.width)

    def middle(self, x: np.ndarray) -> np.ndarray:
        """Return the inputs of rows with images cut in the middle: float64, shape (m, ...)."""
        images = self._standardised(x)
        if self.crop is None:
            return images
        top, left = ((side - self.crop) // 2 for side in self.shape[1:])
        return images[:, :, top : top + self.crop, left : left + self.crop]

    def random_pieces(self, x: np.ndarray, seed: int, counter: int) -> np.ndarray:
        """Return the inputs of rows with images cut and reflected at random, depending on (seed, counter)."""
        images = self._standardised(x)
        if self.crop is None:
            return images
        m, channels, height, width = images.shape
        u = streams.uniform(seed, "pieces of images", counter, (m, 3))
        rows = (u[:, 0] * (height - self.crop + 1)).astype(int)[:, None] + np.arange(self.crop)
        columns = (u[:, 1] * (width - self.crop + 1)).astype(int)[:, None] + np.arange(self.crop)
        columns = np.where(u[:, 2:] < 0.5, columns, columns[:, ::-1])
        which = np.arange(m)[:, None, None, None], np.arange(channels)[None, :, None, None]
        return images[(*which, rows[:, None, :, None], columns[:, None, None, :])]

    def _standardised(self, x: np.ndarray) -> np.ndarray:
        return ((self._coded(x) - self.mean) / self.scale).reshape(len(x), *self.shape)


def _blocks(x: np.ndarray) -> Iterable[np.ndarray]:
    for rows in arrays.blocks(len(x), _ROWS):
        yield np.asarray(x[rows], dtype=np.float64)


class NetSnapshot:
    """A net during its training, for observers.

    Outputs are cached, so several measures of the same points need one evaluation.
    """

    def __init__(self, estimator: Any, state: NetState, epoch: int):
        self.estimator, self.state, self.epoch = estimator, state, epoch
        self._training_scores: np.ndarray | None = None
        self._last: tuple[Any, np.ndarray] | None = None

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs of the net, shape (m, c)."""
        if self._last is None or self._last[0] is not X:
            self._last = (X, self.estimator._raw_predict(np.asarray(X), self.state.weights))
        return self._last[1]

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values in the user's coding."""
        return self.estimator._decode(self.decision_function(X))

    def training_decision_function(self) -> np.ndarray:
        """Outputs on the training rows, shape (n, c)."""
        if self._training_scores is None:
            self._training_scores = self.estimator._raw_predict(self.estimator._rows, self.state.weights)
        return self._training_scores

    def predict_training(self) -> np.ndarray:
        """`predict` on the training rows."""
        return self.estimator._decode(self.training_decision_function())

    def square_loss(self, X: Any, y: Any) -> float:
        """Return the mean of the squared error over points and outputs.

        For classes, targets are −1 and +1 and the function is 2 p − 1 with the estimated probability p, comparable with
        the square loss of a least-squares classifier.
        """
        return self.estimator._square_loss(self.decision_function(X), np.asarray(y))

    def training_square_loss(self, y: Any) -> float:
        """`square_loss` on the training rows."""
        return self.estimator._square_loss(self.training_decision_function(), np.asarray(y))

    def mean_loss(self, X: Any, y: Any) -> float:
        """Return the mean of the minimized loss: cross-entropy, or half the squared error in the targets' units."""
        return self.estimator._mean_loss(self.decision_function(X), np.asarray(y))

    def coefficient_norm(self) -> float:
        """Euclidean norm of all weights."""
        return math.sqrt(sum(float((value.detach().double() ** 2).sum()) for value in self.state.weights.values()))
