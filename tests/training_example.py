"""Solvers of which every step can be predicted, and an observer that writes down what it is shown."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from engine_example import sample
from shallows.solvers.least_squares.kernel_problem import DeviceState
from shallows.training import Batches, Observer, Stopping, train

N, SIZE = 50, 8
N_BATCHES = 7


@dataclass
class State(DeviceState):
    kept: ClassVar[tuple[str, ...]] = ("coefficients",)
    counted: ClassVar[tuple[str, ...]] = ()

    coefficients: np.ndarray
    step_size: float
    loss: float = 0.0


@dataclass(frozen=True)
class Pull:
    """α_S ← α_S − η (α_S − y_S): the error of every row is (1 − η) times what it was, so all can be predicted."""

    step_size: float
    pause: float = 0.0

    def init(self, problem):
        return State(np.zeros_like(problem.targets), self.step_size)

    def step(self, problem, state, batch):
        time.sleep(self.pause)
        difference = state.coefficients[batch] - problem.targets[batch]
        state.loss = float((difference**2).sum())
        state.coefficients[batch] -= state.step_size * difference
        return state


@dataclass(frozen=True)
class Broken(Pull):
    """A loss that is no number from some step on, however small the step size."""

    after: int = 0
    seen: list = field(default_factory=list)

    def step(self, problem, state, batch):
        state = super().step(problem, state, batch)
        self.seen.append(batch)
        if len(self.seen) > self.after:
            state.loss = float("nan")
        return state


class Watch(Observer):
    """Writes down what it is shown; at an iteration of choice it does something."""

    def __init__(self, at=None, do=None):
        self.at, self.do = at, do
        self.calls, self.iterations, self.epochs = [], [], []

    def on_start(self, run):
        self.calls.append("start")

    def on_batch(self, run):
        self.calls.append("batch")
        self.iterations.append(run.iteration)
        if run.iteration == self.at:
            self.do()

    def on_epoch(self, run):
        self.calls.append("epoch")
        self.epochs.append(run.epoch)

    def on_end(self, run):
        self.calls.append("end")


TARGETS = SimpleNamespace(targets=sample(N, 2), weights=None)


def go(solver=None, stopping=None, *, seed=0, task=TARGETS, size=SIZE, **options):
    batches = Batches(len(task.targets), size, seed)
    return train(solver or Pull(0.5), task, batches, stopping or Stopping(max_epochs=4), **options)
