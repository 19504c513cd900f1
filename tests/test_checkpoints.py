"""Checkpoints: a run that was stopped or killed goes on to the same bits, and no bad file is taken for a good one."""

from __future__ import annotations

import errno
import functools
import json
import os
import signal
import tracemalloc
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from engine_example import problem
from resumed_example import stopped_at_every_batch
from shallows import EigenProRegressor
from shallows.errors import CheckpointError, DivergenceError, TrainingInterrupted
from shallows.solvers import EigenPro, Richardson
from shallows.solvers.least_squares.cycles import Cycle
from shallows.solvers.least_squares.kernel_problem import AveragedState
from shallows.training import Batches, Checkpoint, Curve, Stopping, checkpoints, train
from training_example import SIZE, Pull, Watch, go


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
    assert 9 < arrays_held <= EigenProRegressor._n_arrays + 0.5


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


@pytest.fixture
def interrupted_twice(tmp_path):
    """The folder of a run with two checkpoints: of its 11th batch, and before it of its 10th."""
    checkpoint = Checkpoint(tmp_path, "k", every_seconds=0)
    with pytest.raises(TrainingInterrupted):
        solve(checkpoint, [Watch(11, checkpoint.request_stop)])
    assert {path.name for path in tmp_path.glob("*.npz")} == {"checkpoint.npz", "checkpoint-before.npz"}
    return tmp_path


def truncated(path):
    path.write_bytes(path.read_bytes()[:500])


def of_another_run(path):
    change_notes(path, key="another")


def of_a_later_version(path):
    change_notes(path, format=checkpoints.FORMAT + 1)


def change_notes(path, **changed):
    def change(held):
        notes = json.loads(str(held["notes"])) | changed
        del notes["checksum"]
        notes["checksum"] = checkpoints._checksum({name: held[name] for name in held if name != "notes"}, notes)
        held["notes"] = np.array(json.dumps(notes))

    rewrite(path, change)


BAD = {
    truncated: "cannot be read",
    of_another_run: "belongs to another run",
    of_a_later_version: "was written by a later version of this program \\(format 3; this one reads up to 2\\)",
}


@pytest.mark.parametrize("spoil", BAD)
def test_a_bad_checkpoint_is_named_and_the_one_before_is_used(spoil, interrupted_twice):
    spoil(interrupted_twice / "checkpoint.npz")
    watch = Watch()
    with pytest.warns(
        UserWarning, match=rf"checkpoint\.npz .*{BAD[spoil]}.* checkpoint before it, .*before\.npz, is used"
    ):
        resumed = solve(Checkpoint(interrupted_twice, "k"), [watch])
    assert watch.iterations[0] == 11  # the batch after the tenth
    assert_the_same(solve(), resumed)


@pytest.mark.parametrize("spoil", BAD)
def test_where_both_checkpoints_are_bad_the_last_one_is_refused(spoil, interrupted_twice):
    for name in ("checkpoint.npz", "checkpoint-before.npz"):
        spoil(interrupted_twice / name)
    with pytest.raises(CheckpointError, match=rf"checkpoint\.npz .*{BAD[spoil]}"):
        solve(Checkpoint(interrupted_twice, "k"))


def test_a_bad_checkpoint_does_not_take_the_place_of_the_good_one_before(interrupted_twice):
    truncated(interrupted_twice / "checkpoint.npz")
    good = (interrupted_twice / "checkpoint-before.npz").read_bytes()
    checkpoint = Checkpoint(interrupted_twice, "k", every_seconds=1e9)
    with pytest.warns(UserWarning, match="is used"), pytest.raises(TrainingInterrupted):
        solve(checkpoint, [Watch(13, checkpoint.request_stop)])
    assert (interrupted_twice / "checkpoint-before.npz").read_bytes() == good
    assert_the_same(solve(), solve(Checkpoint(interrupted_twice, "k")))


def test_the_one_before_is_used_where_a_folder_has_lost_the_last(interrupted_twice):
    (interrupted_twice / "checkpoint.npz").unlink()
    assert_the_same(solve(), solve(Checkpoint(interrupted_twice, "k")))


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    left = tmp_path / ".checkpoint.npz.123-abcd.part"
    left.write_bytes(b"half")
    solve(Checkpoint(tmp_path, "k"))
    assert not left.exists()


def test_slow_writing_makes_checkpoints_rarer(tmp_path, monkeypatch):
    clock = iter(np.arange(0.0, 1e6, 3.0))
    now = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    checkpoint = Checkpoint(tmp_path, "k", every_seconds=60.0)

    def slow(*_, **__):
        now[0] += 6.0  # a state that takes six seconds to write

    monkeypatch.setattr(np, "savez", slow)
    monkeypatch.setattr(checkpoint, "_keep_last", lambda: None)
    checkpoint.save({}, {})
    written = now[0]
    due = next(t for t in clock if not now.__setitem__(0, written + t) and checkpoint.due())
    # 6 s of 300 are the 2 % that writing may take; a quick state would be due after 60 s.
    assert 300 <= due < 306


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
