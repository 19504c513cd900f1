"""The loop where data stream past and models grow: streams, marks in iterations and seconds, states kept whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from resumed_example import stopped_at_every_batch
from shallows import arrays
from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted
from shallows.training import Batches, Checkpoint, Curve, Observer, Progress, Stopping, Stream, train


@dataclass
class Pile:
    """A state that grows by every number it sees."""

    numbers: list = field(default_factory=list)
    step_size: float = 1.0
    loss: float = 0.0
    zero_loss: float = 1.0

    def monitored(self):
        return self.loss, self.zero_loss

    def remember(self):
        return {"numbers": np.array(self.numbers, dtype=np.float64)}, {"loss": self.loss, "zero_loss": self.zero_loss}

    def recall(self, held, numbers):
        self.numbers = [float(number) for number in held["numbers"]]
        self.loss, self.zero_loss = numbers["loss"], numbers["zero_loss"]

    def is_finite(self):
        return bool(np.isfinite(self.numbers).all())


@dataclass(frozen=True)
class Stacking:
    """Puts the step times what it is given on the pile; the loss is what it is given."""

    loss: float = 0.5
    bad: float = -1.0
    """What makes the loss infinite while the step is above a quarter."""

    def init(self, problem):
        return Pile()

    def step(self, problem, state, batch):
        number = float(batch.start) if isinstance(batch, slice) else batch
        state.numbers.append(state.step_size * number)
        state.loss = np.inf if number == self.bad and state.step_size > 0.25 else self.loss
        return state


PROBLEM = SimpleNamespace()


def stream(n, seen=None):
    for i in range(n):
        if seen is not None:
            seen.append(i)
        yield float(i)


def go(source, solver=None, stopping=None, **options):
    return train(solver or Stacking(), PROBLEM, Stream(source), stopping or Stopping(1), **options)


def test_a_stream_is_read_once_in_its_order_and_a_state_that_is_handed_in_goes_on():
    run = go(stream(7))
    assert run.state.numbers == [0, 1, 2, 3, 4, 5, 6]
    assert (run.epoch, run.iteration, run.stopped_by, run.losses) == (1, 7, "max_epochs", [0.5])
    assert go(stream(2), state=run.state).state.numbers == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    again = go(lambda: stream(3), stopping=Stopping(max_epochs=2))  # It can be opened again, so it has epochs.
    assert again.state.numbers == [0, 1, 2, 0, 1, 2]
    with pytest.raises(ShallowsError, match="ended before its first batch"):
        go(iter(()))


def test_a_stream_is_read_no_further_than_the_batches_asked_for():
    seen = []
    run = go(stream(100, seen), stopping=Stopping(1, max_iterations=5))
    assert (len(seen), run.iteration, run.stopped_by) == (5, 5, "max_iterations")


@pytest.mark.parametrize("at", [1, 5])
def test_a_stream_that_is_handed_in_again_is_passed_over_to_where_the_checkpoint_is(at, tmp_path):
    checkpoint = Checkpoint(tmp_path, "k")

    class Stop(Observer):
        def on_batch(self, run):
            if run.iteration == at:
                checkpoint.request_stop()

    with pytest.raises(TrainingInterrupted):
        go(stream(6), observers=[Stop()], checkpoint=checkpoint)
    run = go(stream(6), checkpoint=Checkpoint(tmp_path, "k"))
    assert run.state.numbers == [0, 1, 2, 3, 4, 5]
    assert (run.n_resumes, run.losses) == (1, [0.5])


def test_what_diverges_in_a_stream_is_an_error_that_names_the_batch():
    with pytest.raises(DivergenceError, match=r"batch 4 of the stream with step_size=1"):
        go(stream(9), Stacking(bad=3.0))


def test_what_is_too_large_is_told_by_the_problem():
    for growth, fine in ((2.0, False), (4.0, True), (float("inf"), True)):
        problem = SimpleNamespace(growth=growth)
        if fine:
            train(Stacking(loss=3.0), problem, Stream(stream(3)), Stopping(1))
        else:
            with pytest.raises(DivergenceError):
                train(Stacking(loss=3.0), problem, Stream(stream(3)), Stopping(1))


def test_a_grown_state_is_rolled_back_to_where_the_epoch_began():
    # 5 batches an epoch, of which the one that starts at 8 is bad until the step is a quarter.
    run = train(Stacking(bad=8.0), PROBLEM, Batches(10, 2, seed=0), Stopping(max_epochs=2))
    assert (run.n_rollbacks, run.state.step_size) == (2, 0.25)
    starts = [batch.start for epoch in (0, 1) for batch in Batches(10, 2, seed=0).of_epoch(epoch)]
    assert run.state.numbers == [0.25 * start for start in starts]
    assert run.losses == [0.5, 0.5]


@pytest.mark.parametrize("bad", [-1.0, 8.0])
def test_a_grown_state_that_is_stopped_at_every_batch_ends_the_same(bad, tmp_path):
    def once(checkpoint=None, observers=()):
        return train(
            Stacking(bad=bad),
            PROBLEM,
            Batches(10, 2, seed=0),
            Stopping(max_epochs=3, validate=lambda state: abs(len(state.numbers) - 10), patience=9),
            checkpoint=checkpoint,
            observers=observers,
        )

    resumed, _ = stopped_at_every_batch(once, tmp_path)
    whole = once()
    assert resumed.state.numbers == whole.state.numbers
    assert len(whole.state.numbers) == 10  # The smallest error was after the second epoch.
    assert (resumed.losses, resumed.validation_errors) == (whole.losses, whole.validation_errors)


def test_a_curve_measures_at_iterations_and_again_after_a_rollback():
    curve = Curve([1, 4, 7, 99], lambda state: {"length": len(state.numbers)}, unit="iteration")
    train(Stacking(), PROBLEM, Batches(10, 2, seed=0), Stopping(max_epochs=2), observers=[curve])
    assert [(row["iteration"], row["length"]) for row in curve.rows] == [(1, 1), (4, 4), (7, 7)]
    curve = Curve([1, 2, 3, 4, 5], lambda state: {"step": state.step_size}, unit="iteration")
    order = Batches(10, 2, seed=0).of_epoch(0)
    train(Stacking(bad=float(order[3].start)), PROBLEM, Batches(10, 2, seed=0), Stopping(1), observers=[curve])
    assert [(row["iteration"], row["step"]) for row in curve.rows] == [(i, 0.25) for i in (1, 2, 3, 4, 5)]
    with pytest.raises(ShallowsError, match="'epoch', 'iteration', 'seconds', not 'hours'"):
        Curve([1], lambda snapshot: {}, unit="hours")


def test_a_curve_measures_at_the_first_batch_after_each_mark_in_seconds():
    curve = Curve([0.25, 0.5, 3.5], lambda state: {"length": len(state.numbers)}, unit="seconds")
    run = SimpleNamespace(epoch=0, iteration=0, seconds=0.0, snapshot=lambda: Pile())
    for _ in range(6):
        run.iteration, run.seconds = run.iteration + 1, run.seconds + 1.0
        curve.on_batch(run)
    assert [row["iteration"] for row in curve.rows] == [1, 4]


def test_the_progress_of_a_stream_is_told_in_batches(capsys):
    go(stream(3), observers=[Progress("stream", every_seconds=0.0)])
    go(stream(9), stopping=Stopping(1, max_iterations=4), observers=[Progress("stream", every_seconds=0.0)])
    lines = capsys.readouterr().err.splitlines()
    assert lines[2].startswith("stream: batch 3, ")
    assert lines[4].startswith("stream: batch 2 of 4, 50 %, about ")


def test_a_damped_system_is_solved_and_a_singular_one_gets_more_damping():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(8, 6)), rng.normal(size=(6, 2))
    expected = np.linalg.solve(A.T @ A + 0.3 * np.eye(6), b)
    assert np.abs(arrays.solve_damped(A.T @ A, b, 0.3) - expected).max() < 1e-12
    # Rank 3 in float32: rounding makes some eigenvalues negative.
    low = rng.normal(size=(40, 3)).astype(np.float32)
    found = arrays.solve_damped(low @ low.T, low[:, :1], 0.0)
    assert np.isfinite(found).all()
    assert np.abs(low @ low.T @ found - low[:, :1]).max() < 1e-3
    assert np.isnan(arrays.solve_damped(np.full((2, 2), np.nan), b[:2], 1.0)).all()
