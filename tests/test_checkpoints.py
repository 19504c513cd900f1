"""A run that was stopped or killed continues to the same bits."""

from __future__ import annotations

import functools
import os
import signal
import tracemalloc
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from checkpoint_example import assert_the_same, solve
from resumed_example import stopped_at_every_batch
from shallows.errors import TrainingInterrupted
from shallows.solvers.least_squares.eigenpro import EigenPro, EigenProStepper
from shallows.solvers.least_squares.kernel_problem import AveragedState
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper
from shallows.solvers.least_squares.step_rules import Cycle
from shallows.training import Batches, Checkpoint, Stopping, train
from training_example import Pull, Watch, go


@dataclass(frozen=True)
class Touchy(KernelSGDStepper):
    """Diverges with every step above 0.15, in the middle of an epoch, once the coefficients have grown."""

    limit: float = 0.6

    def step(self, problem, state, batch):
        grown = np.abs(state.coefficients).max() > self.limit
        state = super().step(problem, state, batch)
        if grown and batch.start == 16 and state.step_size > 0.15:
            state.loss = float("inf")
        return state


@dataclass(frozen=True)
class TouchyEigenPro(EigenProStepper):
    """Diverges with every step above 0.1, in the middle of every epoch but the first since it began."""

    def step(self, problem, state, batch):
        late = state.n_steps >= 8
        state = super().step(problem, state, batch)
        if late and batch.start == 16 and state.step_size > 0.1:
            state.loss = float("inf")
        return state


AVERAGED = Cycle(8, (), (1.0, 0.7), 4.0)
VALIDATED = Stopping(
    max_epochs=5, validate=lambda state: abs(float(np.linalg.norm(state.coefficients)) - 7.0), patience=2
)

OPTIONS = {
    "plain": {},
    "averaged": {"solver": EigenProStepper(0.3, AVERAGED), "weights": True},
    "averaged and rolled back, first to where an epoch began": {
        "solver": TouchyEigenPro(0.3, AVERAGED),
        "stopping": Stopping(max_epochs=4),
    },
    "averaged and validated": {"solver": EigenProStepper(0.3, AVERAGED), "stopping": VALIDATED},
    "weighted": {"weights": True},
    "with iterations": {"stopping": Stopping(max_epochs=3, max_iterations=19)},
    "rolled back": {"solver": KernelSGDStepper(20.0)},
    "rolled back to where an epoch began": {"solver": Touchy(0.2), "stopping": Stopping(max_epochs=5)},
    "rolled back to nothing": {"solver": Touchy(0.4, limit=1.0), "stopping": Stopping(max_epochs=5)},
    "validated": {"stopping": VALIDATED},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_run_that_is_stopped_at_every_batch_gives_the_same_to_the_bit(options, tmp_path):
    whole = solve(**options)
    resumed, n_runs = stopped_at_every_batch(functools.partial(solve, **options), tmp_path)
    assert n_runs >= whole[0].iteration - 1
    assert resumed[0].n_resumes == n_runs - 1
    assert_the_same(whole, resumed)


@dataclass(frozen=True)
class Averaging:
    """Steps of no work, whose iterates are averaged."""

    def init(self, problem):
        return AveragedState(np.zeros_like(problem.targets), 1.0)

    def step(self, problem, state, batch):
        state.move(batch, 1.0)
        state.advance(0.5)
        return state


def test_an_averaged_training_holds_no_more_arrays_than_its_estimator_leaves_room_for(tmp_path):
    targets = np.ones((3000, 100))
    held = SimpleNamespace(targets=targets, weights=None)
    better = iter(range(9, 0, -1))
    stopping = Stopping(max_epochs=3, validate=lambda _: float(next(better)))
    tracemalloc.start()
    try:
        train(Averaging(), held, Batches(3000, 1000, 0), stopping, checkpoint=Checkpoint(tmp_path, "k", 0.0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    arrays_held = 1 + peak / targets.nbytes
    assert 9 < arrays_held <= EigenPro.n_arrays + 0.5


@pytest.mark.parametrize(("at", "every_seconds"), [(1, 0), (8, 0), (20, 0), (9, 1e9)])
def test_a_run_that_is_killed_goes_on_from_its_last_checkpoint(at, every_seconds, tmp_path):
    def die():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(Checkpoint(tmp_path, "k", every_seconds), [Watch(at, die)])
    watch = Watch()
    resumed = solve(Checkpoint(tmp_path, "k", every_seconds), [watch])
    # The batch at which it was killed had no checkpoint yet.
    assert watch.iterations[0] == (at if every_seconds == 0 else 1)
    assert_the_same(solve(), resumed)


def test_a_run_that_is_done_is_not_trained_again(tmp_path):
    first = solve(Checkpoint(tmp_path, "k"))
    watch = Watch()
    again = solve(Checkpoint(tmp_path, "k"), [watch])
    assert watch.calls == ["start", "end"]
    assert_the_same(first, again)


def test_seconds_add_up_over_the_parts_of_a_run(tmp_path):
    checkpoint = Checkpoint(tmp_path, "k")
    options = {"stopping": Stopping(max_epochs=4), "checkpoint": checkpoint}
    with pytest.raises(TrainingInterrupted):
        go(Pull(0.5, pause=0.01), observers=[Watch(10, checkpoint.request_stop)], **options)
    run = go(Pull(0.5), Stopping(max_epochs=4), checkpoint=Checkpoint(tmp_path, "k"))
    assert run.seconds >= 10 * 0.01


def test_a_signal_can_ask_for_the_stop(tmp_path):
    checkpoint = Checkpoint(tmp_path, "k")
    before = signal.signal(signal.SIGTERM, checkpoint.request_stop)
    try:
        with pytest.raises(TrainingInterrupted):
            solve(checkpoint, [Watch(5, lambda: os.kill(os.getpid(), signal.SIGTERM))])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert_the_same(solve(), solve(Checkpoint(tmp_path, "k")))
