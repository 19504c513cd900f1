"""The loop: batches, rules, marks, the watch for divergence, checkpoints."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
import tracemalloc
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from engine_example import problem, sample
from shallows import EigenProRegressor, training
from shallows.errors import CheckpointError, DivergenceError, ShallowsError, TrainingInterrupted
from shallows.solvers import EigenPro, Richardson
from shallows.solvers.base import AveragedState
from shallows.solvers.steps import Cycle
from shallows.training import Batches, Checkpoint, Curve, Observer, Stopping, checkpoints, observers, train

N, SIZE = 50, 8
N_BATCHES = 7


@dataclass
class State:
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
    run = train(Richardson(0.0), p.problem, batches, Stopping(max_epochs=2))
    # A step of nothing stays at the zero function.
    assert run.losses == pytest.approx([1.0, 1.0], rel=1e-12)


def test_observers_are_told_of_start_batches_epochs_and_end_in_their_order():
    watch = Watch()
    go(stopping=Stopping(max_epochs=2), observers=[watch])
    assert watch.calls == ["start", *(["batch"] * N_BATCHES + ["epoch"]) * 2, "end"]
    assert watch.iterations == list(range(1, 15))
    assert watch.epochs == [1, 2]


def test_observers_are_told_of_the_end_also_when_training_fails():
    watch = Watch()
    with pytest.raises(DivergenceError):
        go(Pull(5.0), observers=[watch], may_shrink=False)
    assert watch.calls[-1] == "end"


def test_seconds_are_those_of_the_steps_and_not_of_those_who_look_on():
    run = go(
        Pull(0.5, pause=0.002),
        Stopping(max_epochs=1),
        observers=[Watch(at=1, do=lambda: time.sleep(0.5))],
    )
    assert 0.002 * N_BATCHES <= run.seconds < 0.4


# ------------------------------------------------------------------------------------------------- rules


def test_training_ends_after_the_epochs_that_were_asked_for():
    run = go(stopping=Stopping(max_epochs=3))
    assert (run.stopped_by, run.epoch, len(run.losses)) == ("max_epochs", 3, 3)


@pytest.mark.parametrize("n", [1, 5, 7, 9])
def test_training_ends_after_the_iterations_that_were_asked_for(n):
    run = go(stopping=Stopping(max_epochs=3, max_iterations=n))
    assert (run.stopped_by, run.iteration) == ("max_iterations", n)
    assert (run.epoch, run.position) == divmod(n, N_BATCHES)


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


def test_training_ends_when_the_error_asked_for_is_reached():
    run = go(stopping=Stopping(max_epochs=100, validate=told(0.5, 0.3, 0.2, 0.1), target=0.2))
    assert (run.stopped_by, run.epoch) == ("target", 3)
    assert run.validation_errors == [0.5, 0.3, 0.2]


def test_training_ends_when_the_error_has_not_fallen_for_as_long_as_patience_lasts():
    run = go(stopping=Stopping(max_epochs=100, validate=told(0.5, 0.3, 0.4, 0.3, 0.35), patience=2))
    assert (run.stopped_by, run.epoch) == ("patience", 4)


def test_the_coefficients_with_the_smallest_error_are_the_result():
    run = go(stopping=Stopping(max_epochs=4, validate=told(0.5, 0.3, 0.4, 0.35)))
    assert np.abs(run.state.coefficients - TARGETS.targets * (1 - 0.5**2)).max() < 1e-15


def test_the_rule_that_validates_is_shown_the_snapshot():
    seen = []
    go(
        stopping=Stopping(max_epochs=2, validate=lambda snapshot: seen.append(snapshot) or 0.0),
        snapshot=lambda state, epoch: (epoch, float(np.abs(state.coefficients).max())),
    )
    largest = float(np.abs(TARGETS.targets).max())
    assert seen == [(1, pytest.approx(largest / 2)), (2, pytest.approx(largest * 3 / 4))]


def test_no_epoch_is_no_training():
    with pytest.raises(ShallowsError, match="max_epochs must be at least 1"):
        Stopping(max_epochs=0)


def test_a_problem_that_is_solved_from_the_start_ends_after_an_epoch():
    run = go(task=SimpleNamespace(targets=np.zeros((N, 1)), weights=None))
    assert (run.stopped_by, run.losses, run.n_rollbacks) == ("tolerance", [0.0], 0)


# ------------------------------------------------------------------------------------------------- marks


def test_a_curve_measures_at_its_marks_and_nowhere_else():
    curve = Curve([1, 3, 9], lambda snapshot: {"error": snapshot})
    run = go(observers=[curve], snapshot=lambda state, epoch: 0.5**epoch)
    assert [(row["epoch"], row["iteration"], row["error"]) for row in curve.rows] == [(1, 7, 0.5), (3, 21, 0.125)]
    assert 0 < curve.rows[0]["seconds"] < curve.rows[1]["seconds"] <= run.seconds


def test_without_a_maker_of_snapshots_a_curve_is_shown_the_state():
    curve = Curve([2], lambda state: {"largest": np.abs(state.coefficients).max()})
    go(observers=[curve])
    assert curve.rows[0]["largest"] == pytest.approx(np.abs(TARGETS.targets).max() * 0.75)


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


def test_a_step_of_the_users_that_diverges_is_an_error_that_names_it():
    with pytest.raises(DivergenceError, match=r"epoch \d+ with step_size=7\.5.*smaller step_size"):
        go(Pull(7.5), may_shrink=False)


def test_a_loss_that_is_no_number_is_caught_at_the_batch():
    solver = Broken(0.5, after=9)
    with pytest.raises(DivergenceError, match="epoch 2"):
        go(solver, may_shrink=False)
    assert len(solver.seen) == 10


def test_when_no_step_helps_the_error_says_how_often_it_was_halved():
    with pytest.raises(DivergenceError, match=f"after {training.MAX_ROLLBACKS} halvings"):
        go(Broken(0.5))


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


def test_a_kernel_machine_recovers_from_a_step_that_is_far_too_large():
    p = problem()
    run = train(Richardson(50.0), p.problem, Batches(60, 10, 0), Stopping(max_epochs=300))
    assert run.n_rollbacks > 2
    assert run.losses[-1] < 0.05
    assert run.losses[-1] < run.losses[10] < run.losses[0]


# ------------------------------------------------------------------------------------------- checkpoints


def solve(checkpoint=None, observers=(), *, seed=1, solver=None, stopping=None, marks=(1, 2, 3), weights=False):
    """EigenPro on a small problem; the run and the rows of its curve."""
    p = problem(rank=5, n_subsample=30, weights=weights)
    curve = Curve(marks, lambda snapshot: {"norm": np.linalg.norm(snapshot.coefficients)})
    run = train(
        solver or EigenPro(p.preconditioner.step_size(SIZE)),
        p.problem,
        Batches(60, SIZE, seed),
        stopping or Stopping(max_epochs=3),
        observers=[curve, *observers],
        checkpoint=checkpoint,
    )
    return run, [{name: row[name] for name in ("epoch", "iteration", "norm")} for row in curve.rows]


def assert_the_same(one, other):
    (run, rows), (run2, rows2) = one, other
    assert np.array_equal(run.state.coefficients, run2.state.coefficients)
    for name in ("losses", "iteration", "epoch", "stopped_by", "n_rollbacks", "validation_errors"):
        assert getattr(run, name) == getattr(run2, name), name
    assert run.state.step_size == run2.state.step_size
    assert rows == rows2


@pytest.mark.parametrize("at", range(1, 25))
def test_a_run_that_is_stopped_goes_on_to_the_same_coefficients_to_the_bit(at, tmp_path):
    # 60 points in batches of 8 make 8 batches an epoch: 8, 16 and 24 are ends of epochs.
    checkpoint = Checkpoint(tmp_path, "k", every_seconds=1e9)
    whole = solve()
    if at < 24:
        with pytest.raises(TrainingInterrupted, match=r"checkpoint\.npz holds where it was"):
            solve(checkpoint, [Watch(at, checkpoint.request_stop)])
        resumed = solve(Checkpoint(tmp_path, "k"))
        assert resumed[0].n_resumes == 1
    else:
        resumed = solve(checkpoint, [Watch(at, checkpoint.request_stop)])
    assert_the_same(whole, resumed)


@dataclass(frozen=True)
class Touchy(Richardson):
    """Diverges with every step above 0.15, in the middle of an epoch, once the coefficients have grown."""

    limit: float = 0.6

    def step(self, problem, state, batch):
        grown = np.abs(state.coefficients).max() > self.limit
        state = super().step(problem, state, batch)
        if grown and batch.start == 16 and state.step_size > 0.15:
            state.loss = float("inf")
        return state


@dataclass(frozen=True)
class TouchyEigenPro(EigenPro):
    """Diverges with every step above 0.1, in the middle of every epoch but the first since it began."""

    def step(self, problem, state, batch):
        late = state.n_steps >= 8
        state = super().step(problem, state, batch)
        if late and batch.start == 16 and state.step_size > 0.1:
            state.loss = float("inf")
        return state


AVERAGED = Cycle(8, (), (1.0, 0.7), 4.0)

OPTIONS = {
    "plain": {},
    "averaged": {"solver": EigenPro(0.3, AVERAGED), "weights": True},
    "averaged with iterations": {
        "solver": EigenPro(0.3, AVERAGED),
        "stopping": Stopping(max_epochs=3, max_iterations=22),
    },
    "averaged and rolled back, first to where an epoch began": {
        "solver": TouchyEigenPro(0.3, AVERAGED),
        "stopping": Stopping(max_epochs=4),
    },
    "averaged and validated": {
        "solver": EigenPro(0.3, AVERAGED),
        "stopping": Stopping(
            max_epochs=6, validate=lambda state: abs(float(np.linalg.norm(state.coefficients)) - 7.0), patience=2
        ),
    },
    "weighted": {"weights": True},
    "with iterations": {"stopping": Stopping(max_epochs=3, max_iterations=19)},
    "rolled back": {"solver": Richardson(20.0)},
    "rolled back to where an epoch began": {"solver": Touchy(0.2), "stopping": Stopping(max_epochs=5)},
    "rolled back to nothing": {"solver": Touchy(0.4, limit=1.0), "stopping": Stopping(max_epochs=5)},
    "validated": {
        "stopping": Stopping(
            max_epochs=5, validate=lambda state: abs(float(np.linalg.norm(state.coefficients)) - 7.0), patience=2
        )
    },
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_run_that_is_stopped_at_every_batch_gives_the_same_to_the_bit(options, tmp_path):
    class StopAlways(Observer):
        def on_batch(self, run):
            self.checkpoint.request_stop()

    whole = solve(**options)
    n_runs = 0
    while True:
        n_runs += 1
        stop = StopAlways()
        stop.checkpoint = Checkpoint(tmp_path, "k")
        try:
            resumed = solve(stop.checkpoint, [stop], **options)
            break
        except TrainingInterrupted:
            pass
    assert n_runs >= whole[0].iteration - 1
    assert resumed[0].n_resumes == n_runs - 1
    assert_the_same(whole, resumed)


@dataclass(frozen=True)
class Averaging:
    """Steps of no work, whose iterates are averaged."""

    def init(self, problem):
        return AveragedState(np.zeros_like(problem.targets), 1.0)

    def step(self, problem, state, batch):
        state.iterate[batch, :] += 1.0
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
    assert 9 < arrays_held <= EigenProRegressor._n_held + 0.5


@pytest.mark.parametrize("at", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("every_seconds", [0, 1e9], ids=["often", "never"])
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


def test_an_observer_that_remembers_nothing_may_come_or_go_between_two_runs(tmp_path):
    # A user who turns the progress bar on or off for the second run.
    def with_curve(checkpoint, before, marks=(1, 2, 3)):
        curve = Curve(marks, lambda state: {"norm": 1.0})
        go(observers=[*before, curve], checkpoint=checkpoint)
        return [row["epoch"] for row in curve.rows]

    for i, (first, second) in enumerate((([Watch()], []), ([], [Watch()]))):
        checkpoint = Checkpoint(tmp_path / str(i), "k")
        with pytest.raises(TrainingInterrupted):
            with_curve(checkpoint, [*first, Watch(9, checkpoint.request_stop)])
        assert with_curve(Checkpoint(tmp_path / str(i), "k"), second) == [1, 2, 3]


@pytest.fixture
def interrupted(tmp_path):
    """The folder of a run that was stopped in its second epoch."""
    checkpoint = Checkpoint(tmp_path, "k")
    with pytest.raises(TrainingInterrupted):
        solve(checkpoint, [Watch(11, checkpoint.request_stop)])
    return tmp_path


def test_the_checkpoint_of_another_run_is_refused(interrupted):
    with pytest.raises(CheckpointError, match="belongs to another run"):
        solve(Checkpoint(interrupted, "another"))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_checkpoint_is_refused_and_says_what_to_do(interrupted, share):
    path = interrupted / "checkpoint.npz"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match=r"cannot be read .* Delete it to start this run anew"):
        solve(Checkpoint(interrupted, "k"))


def rewrite(path, change):
    with np.load(path) as file:
        held = dict(file)
    change(held)
    with open(path, "wb") as file:
        np.savez(file, **held)


@pytest.mark.parametrize("name", ["coefficients", "at_epoch_start", "step_size", "epoch"])
def test_an_altered_checkpoint_is_refused(interrupted, name):
    def change(held):
        arrays = [held[key] for key in held if key.partition(".")[0] == name]
        if arrays:
            arrays[0][3] += 1e-9
        else:
            notes = json.loads(str(held["notes"]))
            held["notes"] = np.array(json.dumps({**notes, name: notes[name] * 2}))

    rewrite(interrupted / "checkpoint.npz", change)
    with pytest.raises(CheckpointError, match="altered"):
        solve(Checkpoint(interrupted, "k"))


def test_a_file_of_another_kind_in_its_place_is_refused(interrupted):
    rewrite(interrupted / "checkpoint.npz", lambda held: held.update(notes=np.array("{}")))
    with pytest.raises(CheckpointError, match="cannot be read"):
        solve(Checkpoint(interrupted, "k"))


def test_a_flipped_bit_is_noticed(interrupted):
    path = interrupted / "checkpoint.npz"
    content = bytearray(path.read_bytes())
    where = content.index(b"iterate.npy") + 300
    content[where] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="Delete it"):
        solve(Checkpoint(interrupted, "k"))


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["savez", "fsync", "replace"])
def test_a_full_disk_is_one_clear_error_and_leaves_no_file_that_looks_finished(where, tmp_path, monkeypatch):
    monkeypatch.setattr({"savez": np, "fsync": os, "replace": os}[where], where, full)
    with pytest.raises(CheckpointError, match="could not be written: No space left on device"):
        solve(Checkpoint(tmp_path, "k", every_seconds=0))
    assert {path.name for path in tmp_path.iterdir()} <= {"lock"}


@pytest.mark.parametrize("where", ["savez", "fsync", "replace"])
def test_a_disk_that_becomes_full_leaves_the_last_checkpoint_as_it_was(where, interrupted, monkeypatch):
    before = (interrupted / "checkpoint.npz").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr({"savez": np, "fsync": os, "replace": os}[where], where, full)
        with pytest.raises(CheckpointError, match="No space left"):
            solve(Checkpoint(interrupted, "k", every_seconds=0))
    assert (interrupted / "checkpoint.npz").read_bytes() == before
    assert_the_same(solve(), solve(Checkpoint(interrupted, "k")))


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"cannot be kept in .*file"):
        solve(Checkpoint(tmp_path / "file" / "folder", "k"))


def test_two_runs_do_not_share_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LOCK_SECONDS", 0.05)
    refused = []

    def second():
        with pytest.raises(CheckpointError, match="Another process") as error:
            solve(Checkpoint(tmp_path, "k"))
        refused.append(error)

    solve(Checkpoint(tmp_path, "k"), [Watch(5, second)])
    assert refused
    solve(Checkpoint(tmp_path, "k"))  # The folder is free again.


def test_the_folder_is_free_again_after_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LOCK_SECONDS", 0.05)
    with pytest.raises(DivergenceError):
        go(Pull(5.0), may_shrink=False, checkpoint=Checkpoint(tmp_path, "k"))
    go(checkpoint=Checkpoint(tmp_path, "k"))


# ---------------------------------------------------------------------------------------------- progress


def test_progress_is_told_in_plain_lines_where_there_is_no_terminal(capsys):
    go(observers=[training.Progress("digits", every_seconds=0.0)], stopping=Stopping(max_epochs=2))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 14
    assert lines[6].startswith("digits: epoch 1 of at most 2, 50 %, about ")


def test_a_short_run_shows_nothing(capsys):
    go(observers=[training.Progress("digits")])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("seconds", "words"), [(3, "3 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations_are_told_in_a_fitting_unit(seconds, words):
    assert observers._duration(seconds) == words
