"""The loop: batches, rules, marks, the watch for divergence, progress."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from engine_example import problem
from shallows import training
from shallows.errors import DivergenceError, ShallowsError
from shallows.solvers.least_squares.kernel_problem import DeviceState
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper
from shallows.training import Batches, Curve, OwnRows, Stopping, train
from shallows.utils import progress
from training_example import N_BATCHES, SIZE, TARGETS, Broken, N, Pull, Watch, go

# ------------------------------------------------------------------------------------------------ batches


@pytest.mark.parametrize(("n", "size"), [(50, 8), (48, 8), (5, 8), (1, 1), (20, 1)])
def test_every_row_is_seen_once_an_epoch(n, size):
    batches = Batches(n, size, seed=3)
    order = batches.of_epoch(2)
    assert len(order) == len(batches)
    assert sorted(i for batch in order for i in range(batch.start, batch.stop)) == list(range(n))
    assert all(batch.stop - batch.start <= size for batch in order)


def test_the_order_is_a_function_of_the_seed_and_the_epoch_and_of_nothing_else():
    orders = {(seed, epoch): Batches(200, 5, seed).of_epoch(epoch) for seed in (0, 1) for epoch in (0, 1)}
    assert orders[0, 1] == Batches(200, 5, 0).of_epoch(1)
    assert len({str(order) for order in orders.values()}) == 4


# ---------------------------------------------------------------------------------------- the loop itself


def test_the_loop_takes_the_steps_of_the_solver_in_the_order_of_the_batches():
    solver = Broken(0.5, after=10**9)
    run = go(solver, Stopping(max_epochs=3), seed=4)
    batches = Batches(N, SIZE, 4)
    assert solver.seen == [batch for epoch in range(3) for batch in batches.of_epoch(epoch)]
    assert np.abs(run.state.coefficients - TARGETS.targets * (1 - 0.5**3)).max() < 1e-15
    assert (run.epoch, run.position, run.iteration, run.n_batches) == (3, 0, 21, N_BATCHES)


@pytest.mark.parametrize("weights", [False, True])
def test_the_loss_of_an_epoch_is_told_as_a_share_of_that_of_the_zero_function(weights):
    p = problem(n=N, weights=weights)
    batches = Batches(N, N, 0)
    run = train(KernelSGDStepper(0.0), p.problem, batches, Stopping(max_epochs=2))
    # A step of nothing stays at the zero function.
    assert run.losses == pytest.approx([1.0, 1.0], rel=1e-12)


def test_observers_are_told_of_start_batches_epochs_and_end_in_their_order_also_when_training_fails():
    watch = Watch()
    go(stopping=Stopping(max_epochs=2), observers=[watch])
    assert watch.calls == ["start", *(["batch"] * N_BATCHES + ["epoch"]) * 2, "end"]
    assert watch.iterations == list(range(1, 15))
    assert watch.epochs == [1, 2]
    failed = Watch()
    with pytest.raises(DivergenceError):
        go(Pull(5.0), observers=[failed], may_shrink=False)
    assert failed.calls[-1] == "end"


def test_seconds_are_those_of_the_steps_and_not_of_those_who_look_on():
    run = go(
        Pull(0.5, pause=0.002),
        Stopping(max_epochs=1),
        observers=[Watch(at=1, do=lambda: time.sleep(0.5))],
    )
    assert 0.002 * N_BATCHES <= run.seconds < 0.4


# ------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize("n", [1, 5, 7, 9, None])
def test_training_ends_after_the_epochs_or_iterations_that_were_asked_for(n):
    run = go(stopping=Stopping(max_epochs=3, max_iterations=n))
    assert (run.stopped_by, run.iteration) == (("max_iterations", n) if n else ("max_epochs", 3 * N_BATCHES))
    assert (run.epoch, run.position) == divmod(run.iteration, N_BATCHES)
    assert len(run.losses) == run.epoch


def test_training_ends_when_the_seconds_are_over():
    run = go(Pull(0.5, pause=0.01), Stopping(max_epochs=1000, max_seconds=0.035))
    assert run.stopped_by == "max_seconds"
    assert run.iteration <= 4
    assert run.seconds >= 0.035


def test_training_ends_when_the_loss_is_small_enough():
    # Losses are 1, 1/4, 1/16, ... with a step of a half.
    run = go(stopping=Stopping(max_epochs=100, tolerance=0.07))
    assert (run.stopped_by, run.epoch) == ("tolerance", 3)
    assert run.losses == pytest.approx([1, 1 / 4, 1 / 16], rel=1e-12)


def told(*errors):
    """A rule that measures these errors, one an epoch."""
    left = list(errors)
    return lambda snapshot: left.pop(0)


def test_training_ends_when_patience_is_over_and_the_smallest_error_is_the_result():
    for patience, epochs in ((2, 4), (None, 5)):
        stopping = Stopping(max_epochs=5, validate=told(0.5, 0.3, 0.4, 0.3, 0.35), patience=patience or 9)
        run = go(stopping=stopping)
        assert (run.stopped_by, run.epoch) == ("patience" if patience else "max_epochs", epochs)
        assert np.abs(run.state.coefficients - TARGETS.targets * (1 - 0.5**2)).max() < 1e-15


def test_the_rule_that_validates_is_shown_the_snapshot():
    seen = []
    go(
        stopping=Stopping(max_epochs=2, validate=lambda snapshot: seen.append(snapshot) or 0.0),
        snapshot=lambda state, epoch: (epoch, float(np.abs(state.coefficients).max())),
    )
    largest = float(np.abs(TARGETS.targets).max())
    assert seen == [(1, pytest.approx(largest / 2)), (2, pytest.approx(largest * 3 / 4))]


# ------------------------------------------------------------------------------------------------- marks


def test_a_curve_measures_at_its_marks_and_nowhere_else():
    curve = Curve([1, 3, 9], lambda snapshot: {"error": snapshot})
    plain = Curve([2], lambda state: {"largest": np.abs(state.coefficients).max()})
    run = go(observers=[curve], snapshot=lambda state, epoch: 0.5**epoch)
    assert [(row["epoch"], row["iteration"], row["error"]) for row in curve.rows] == [(1, 7, 0.5), (3, 21, 0.125)]
    assert 0 < curve.rows[0]["seconds"] < curve.rows[1]["seconds"] <= run.seconds
    go(observers=[plain])  # Without a maker of snapshots a curve is shown the state.
    assert plain.rows[0]["largest"] == pytest.approx(np.abs(TARGETS.targets).max() * 0.75)


# -------------------------------------------------------------------------------------------- divergence


@pytest.mark.parametrize(("step", "halvings"), [(1.9, 0), (3.0, 2), (6.0, 2), (100.0, 6)])
def test_a_step_that_diverges_is_halved_until_it_does_not(step, halvings):
    run = go(Pull(step), Stopping(max_epochs=60))
    assert run.n_rollbacks == halvings
    assert run.state.step_size == step / 2**halvings
    assert np.abs(run.state.coefficients - TARGETS.targets).max() < 0.02
    # What was rolled back is not counted.
    assert run.iteration == run.epoch * N_BATCHES
    assert len(run.losses) == run.epoch


def test_an_epoch_that_diverged_is_done_again_from_where_it_began():
    @dataclass(frozen=True)
    class BrokenOnce(Broken):
        def step(self, problem, state, batch):
            state = super().step(problem, state, batch)
            if len(self.seen) == 10:  # The third batch of the second epoch.
                state.loss = float("inf")
            return state

    run = go(BrokenOnce(0.5, after=10**9), Stopping(max_epochs=2))
    assert (run.n_rollbacks, run.state.step_size, run.iteration) == (1, 0.25, 2 * N_BATCHES)
    assert np.abs(run.state.coefficients - TARGETS.targets * (1 - 0.5 * 0.75)).max() < 1e-15
    assert run.losses == pytest.approx([1, 0.25], rel=1e-12)


def test_where_half_the_step_fails_from_the_same_place_training_begins_at_zero_again():
    # With a step of 2.2 the error grows by −1.2 an epoch, and the losses are 1, 1.44, 2.07: the third is too much, and
    # so it is, measured before the steps, with a step of 1.1.
    run = go(Pull(2.2), Stopping(max_epochs=3))
    assert (run.n_rollbacks, run.state.step_size) == (2, 2.2 / 4)
    assert run.losses == pytest.approx([1, 1.44, 1], rel=1e-12)
    assert np.abs(run.state.coefficients - 0.55 * TARGETS.targets).max() < 1e-15


def test_a_step_that_diverges_and_may_not_or_cannot_shrink_is_an_error_that_names_it():
    with pytest.raises(DivergenceError, match=r"epoch \d+ with step_size=7\.5.*smaller step"):
        go(Pull(7.5), may_shrink=False)
    with pytest.raises(DivergenceError, match=f"after {training.MAX_ROLLBACKS} halvings"):
        go(Broken(0.5))
    solver = Broken(0.5, after=9)  # A loss that is no number is caught at the batch.
    with pytest.raises(DivergenceError, match="epoch 2"):
        go(solver, may_shrink=False)
    assert len(solver.seen) == 10


def test_coefficients_that_are_not_finite_are_caught_at_the_end_of_the_epoch():
    @dataclass(frozen=True)
    class Poison(Broken):
        def step(self, problem, state, batch):
            state = super().step(problem, state, batch)
            if len(self.seen) == N_BATCHES:
                state.coefficients[0] = np.inf
            return state

    solver = Poison(0.5, after=10**9)
    with pytest.raises(DivergenceError, match="epoch 1"):
        go(solver, may_shrink=False)
    assert len(solver.seen) == N_BATCHES


# ------------------------------------------------------------------------------------ what a state may offer


@dataclass
class Plain(DeviceState):
    """A state with no step size, which offers what it is given, batch after batch."""

    kept: ClassVar[tuple[str, ...]] = ("coefficients",)
    counted: ClassVar[tuple[str, ...]] = ()

    offers: list
    coefficients: np.ndarray = None
    exhausted: bool = False

    def monitored(self):
        return self.offers.pop(0)


@dataclass(frozen=True)
class Idle:
    """Takes no steps; the state is spoilt after some batches, or says that it has nothing left to do."""

    offers: tuple
    spoilt_after: int = 10**9
    exhausted_after: int = 10**9
    seen: list = field(default_factory=list)

    def init(self, problem):
        return Plain(list(self.offers), np.zeros(2))

    def step(self, problem, state, batch):
        self.seen.append(batch)
        state.coefficients[0] = np.nan if len(self.seen) > self.spoilt_after else 0.0
        state.exhausted = len(self.seen) >= self.exhausted_after
        return state


def idle(*offers, batches=None, **options):
    solver = Idle(offers, **options)
    return solver, train(solver, None, batches or Batches(2, 1, 0), Stopping(2))


def test_the_loss_of_an_epoch_is_the_share_of_what_a_state_offers_in_its_references():
    _, run = idle((1.0, 2.0), (2.0, 4.0), (0.0, 2.0), (1.0, 8.0))
    assert run.losses == [0.5, 0.1]


@pytest.mark.parametrize(
    ("losses", "least_fall", "n_epochs"),
    [
        ([1.0, 0.995, 0.9901, 0.98], 0.01, 3),
        ([1.0, 0.995, 0.9, 0.8999, 0.8998, 0.5], 0.01, 5),  # two in a row
        ([1.0, 0.98, 0.96, 0.94], 0.01, 4),
        ([1.0, 1.01, 1.02, 1.03], 0.01, 3),  # a loss that grows falls by less
        ([1.0, 1.0, 1.0, 1.0], 0.0, 4),
        ([math.nan, math.nan, math.nan], 0.01, 3),
    ],
)
def test_training_ends_after_two_epochs_over_which_the_loss_hardly_fell(losses, least_fall, n_epochs):
    solver = Idle(tuple(None if math.isnan(one) else (one, 1.0) for one in losses))
    run = train(solver, None, Batches(1, 1, 0), Stopping(len(losses), least_fall=least_fall))
    assert (run.epoch, run.stopped_by) == (n_epochs, "plateau" if n_epochs < len(losses) else "max_epochs")


@pytest.mark.parametrize("after", [3, 4])
def test_a_solver_that_chooses_its_rows_is_told_how_many_steps_to_take_and_stops_when_it_is_exhausted(after):
    solver, run = idle(*[(1.0, 1.0)] * 9, batches=OwnRows(50, n_batches=4), exhausted_after=after)
    assert solver.seen == [50] * after
    assert (run.stopped_by, run.iteration) == ("exhausted", after)
    assert (run.epoch, run.position) == divmod(after, 4)


def test_no_step_and_no_epoch_are_refused():
    for wrong in ((0, 1), (1, 0)):
        with pytest.raises(ShallowsError, match="at least 1"):
            OwnRows(*wrong)
    with pytest.raises(ShallowsError, match="max_epochs must be at least 1"):
        train(None, None, Batches(10, 5, 0), Stopping(max_epochs=0))


# ---------------------------------------------------------------------------------------------- progress


def test_progress_is_told_in_plain_lines_where_there_is_no_terminal(capsys):
    go(observers=[training.Progress("digits")])  # A short run shows nothing.
    assert capsys.readouterr().err == ""
    go(observers=[training.Progress("digits", every_seconds=0.0)], stopping=Stopping(max_epochs=2))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 14
    assert lines[6].startswith("digits: epoch 1 of at most 2, 50 %, about ")
    words = {seconds: progress.duration(seconds) for seconds in (3, 89, 600, 9000)}
    assert words == {3: "3 s", 89: "89 s", 600: "10 min", 9000: "2.5 h"}
