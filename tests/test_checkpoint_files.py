"""Checkpoints: no bad file is taken for a good one, and a run that was stopped or killed continues to the same bits."""

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

from checkpoint_example import assert_the_same, solve
from resumed_example import stopped_at_every_batch
from shallows.errors import CheckpointError, DivergenceError, TrainingInterrupted
from shallows.solvers.least_squares.eigenpro import EigenPro, EigenProStepper
from shallows.solvers.least_squares.kernel_problem import AveragedState
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper
from shallows.solvers.least_squares.step_rules import Cycle
from shallows.training import Batches, Checkpoint, Stopping, checkpoints, train
from training_example import Pull, Watch, go


@pytest.fixture
def interrupted(tmp_path):
    """The folder of a run that was stopped in its second epoch."""
    checkpoint = Checkpoint(tmp_path, "k")
    with pytest.raises(TrainingInterrupted):
        solve(checkpoint, [Watch(11, checkpoint.request_stop)])
    return tmp_path


def flipped(content):
    where = content.index(b"iterate.npy") + 300
    return content[:where] + bytes([content[where] ^ 1]) + content[where + 1 :]


@pytest.mark.parametrize("spoil", [lambda content: b"", lambda content: content[: len(content) // 2], flipped])
def test_a_truncated_or_flipped_checkpoint_is_refused_and_says_what_to_do(interrupted, spoil):
    path = interrupted / "checkpoint.npz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(CheckpointError, match=r"cannot be read .* Delete it to start this run again|Delete it"):
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
    with pytest.raises(CheckpointError, match="belongs to another run"):
        solve(Checkpoint(interrupted, "another"))
    rewrite(interrupted / "checkpoint.npz", lambda held: held.update(notes=np.array("{}")))
    with pytest.raises(CheckpointError, match="cannot be read"):
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
    of_a_later_version: "was written by another version of this program \\(format 4; this one reads 3\\)",
}


@pytest.mark.parametrize("spoil", BAD)
def test_a_bad_checkpoint_is_named_and_the_one_before_is_used(spoil, interrupted_twice):
    last, before = (interrupted_twice / name for name in ("checkpoint.npz", "checkpoint-before.npz"))
    spoil(last)
    good, used = before.read_bytes(), rf"checkpoint\.npz .*{BAD[spoil]}.* checkpoint before it, .*before\.npz, is used"
    watch, checkpoint = Watch(), Checkpoint(interrupted_twice, "k", every_seconds=1e9)
    with pytest.warns(UserWarning, match=used), pytest.raises(TrainingInterrupted):
        solve(checkpoint, [watch, Watch(13, checkpoint.request_stop)])
    assert watch.iterations[0] == 11  # the batch after the tenth
    assert before.read_bytes() == good  # the bad one did not take its place
    assert_the_same(solve(), solve(Checkpoint(interrupted_twice, "k")))


@pytest.mark.parametrize("spoil", BAD)
def test_where_both_checkpoints_are_bad_the_last_one_is_refused(spoil, interrupted_twice):
    for name in ("checkpoint.npz", "checkpoint-before.npz"):
        spoil(interrupted_twice / name)
    with pytest.raises(CheckpointError, match=rf"checkpoint\.npz .*{BAD[spoil]}"):
        solve(Checkpoint(interrupted_twice, "k"))


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    left = tmp_path / ".checkpoint.npz.123-abcd.part"
    left.write_bytes(b"half")
    solve(Checkpoint(tmp_path, "k"))
    assert not left.exists()


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["savez", "fsync", "replace"])
def test_a_full_disk_is_one_clear_error_and_leaves_the_last_checkpoint(where, interrupted, monkeypatch, tmp_path):
    before, empty = (interrupted / "checkpoint.npz").read_bytes(), tmp_path / "empty"
    with monkeypatch.context() as patch:
        patch.setattr({"savez": np, "fsync": os, "replace": os}[where], where, full)
        for folder in (interrupted, empty):
            with pytest.raises(CheckpointError, match="could not be written: No space left on device"):
                solve(Checkpoint(folder, "k", every_seconds=0))
    assert {path.name for path in empty.iterdir()} <= {"lock"}
    assert (interrupted / "checkpoint.npz").read_bytes() == before
    assert_the_same(solve(), solve(Checkpoint(interrupted, "k")))


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"cannot be kept in .*file"):
        solve(Checkpoint(tmp_path / "file" / "folder", "k"))


def test_two_runs_do_not_share_a_folder_which_is_free_again_after_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LOCK_SECONDS", 0.05)
    refused = []

    def second():
        with pytest.raises(CheckpointError, match="Another process") as error:
            solve(Checkpoint(tmp_path, "k"))
        refused.append(error)

    solve(Checkpoint(tmp_path, "k"), [Watch(5, second)])
    assert refused
    with pytest.raises(DivergenceError):
        go(Pull(5.0), may_shrink=False, checkpoint=Checkpoint(tmp_path / "other", "k"))
    go(checkpoint=Checkpoint(tmp_path / "other", "k"))


# A run that was stopped or killed continues to the same bits.


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
