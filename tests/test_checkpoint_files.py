"""Files of checkpoints: no bad one is taken for a good one, and the one before is used."""

import errno
import json
import os

import numpy as np
import pytest

from checkpoint_example import assert_the_same, solve
from shallows.errors import CheckpointError, DivergenceError, TrainingInterrupted
from shallows.training import Checkpoint, checkpoints
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
