"""Long work in pieces, and analyses that are interrupted: what was finished is found again, to the bit."""

import math
import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from own_plan import own_configuration
from running_example import job_spec, prepared_example
from shallows.errors import CheckpointError, TrainingInterrupted
from shallows.training import Checkpoint
from shallows_papers.experiments.running import analysis_run, run
from shallows_papers.papers.eigenpro import step_sizes
from shallows_papers.papers.resumable import ResumableLoop

METHODS = own_configuration().methods
SMALL = {
    "step_rules": {"bandwidth": 5.0, "rank": 5, "n_subsample": 60, "n_points": 120, "batch_sizes": [20, 60]},
    "kernel_batches": {"bandwidth": 5.0, "rank": 5, "n_points": 80, "n_batches": 5},
    "reuse_cost": {"bandwidth": 5.0, "n_points": 30, "n_places": 5, "n_iterations": 60, "n_repeats": 2},
}


@pytest.fixture(autouse=True)
def prepared(monkeypatch):
    data = prepared_example(n_train=200, n_features=9, n_classes=2)
    monkeypatch.setattr(run.datasets, "load", lambda folder: data)


def job_of(method, folder):
    spec = job_spec(method, SMALL[method], METHODS[method])
    return run.Job(spec, folder / "prepared", folder / "run", folder / "checkpoints")


def checkpoint(tmp_path, every_seconds=0.0):
    return Checkpoint(tmp_path / "kept", "key", every_seconds)


def test_pieces_are_done_in_their_order_and_without_a_checkpoint_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ResumableLoop().map("squares", lambda n: n * n, [3, 1, 2]) == [9, 1, 4]
    assert not list(tmp_path.iterdir())


def test_finished_pieces_are_found_again_and_keep_every_digit(tmp_path):
    done = []

    def piece(n):
        done.append(n)
        if n == 3 and len(done) == 3:
            kept.request_stop()
        return {"root": math.sqrt(n), "beyond": math.inf, "parts": [0.1 + n, -0.0]}

    items = [2, 5, 3, 7]
    expected = [{"root": math.sqrt(n), "beyond": math.inf, "parts": [0.1 + n, -0.0]} for n in items]
    kept = checkpoint(tmp_path, 3600)
    with pytest.raises(TrainingInterrupted, match="has the finished pieces"), ResumableLoop("", kept) as loop:
        loop.map("roots", piece, items)
    assert done == [2, 5, 3]
    again = checkpoint(tmp_path)
    with ResumableLoop("", again) as loop:
        found = loop.map("roots", piece, items)
    assert done == [2, 5, 3, 7] and again.n_resumes == 1 and loop.seconds_before > 0
    assert found == expected and math.copysign(1, found[0]["parts"][1]) == -1


def test_results_of_another_run_are_refused_and_the_folder_is_free_again(tmp_path):
    with ResumableLoop("", checkpoint(tmp_path)) as loop:
        loop.map("halves", lambda n: n / 2, [1])
    other = Checkpoint(loop.checkpoint.folder, "other")
    with pytest.raises(CheckpointError, match="belongs to another run"), ResumableLoop("", other):
        pass
    with ResumableLoop("", checkpoint(tmp_path)):
        pass


@pytest.mark.parametrize("method", SMALL)
def test_an_analysis_that_is_stopped_goes_on_and_ends_with_the_same_numbers(method, tmp_path, monkeypatch):
    calm = run.execute(job_of(method, tmp_path / "calm"), run.Conditions(device="cpu"))
    job, asked = job_of(method, tmp_path / "stopped"), []

    def stop_at_the_third(self):
        asked.append(self)
        self.stop_requested = self.stop_requested or len(asked) == 3
        return self.stop_requested

    as_it_is = analysis_run.Checkpoint.due
    monkeypatch.setattr(analysis_run.Checkpoint, "due", stop_at_the_third)
    with pytest.raises(TrainingInterrupted):
        run.execute(job, run.Conditions(device="cpu"))
    assert not job.out.exists()
    monkeypatch.setattr(analysis_run.Checkpoint, "due", as_it_is)
    made = run.execute(job, run.Conditions(device="cpu"))
    assert made["resumes"] == 1 and calm["resumes"] == 0
    assert made["model"]["sha256"] == calm["model"]["sha256"]
    assert made["metrics"] == calm["metrics"] and made["effective"] == calm["effective"]
    assert made["times"]["total"] >= made["times"]["eigensystem"] > 0


def test_sigterm_ends_an_analysis_after_the_piece_at_hand(tmp_path, monkeypatch):
    job = job_of("step_rules", tmp_path)
    calm = run.execute(replace(job, out=tmp_path / "calm", checkpoints=tmp_path / "calm"), run.Conditions(device="cpu"))
    reached = threading.Event()
    as_it_is = step_sizes._loss

    def slow(*arguments):
        reached.set()
        time.sleep(0.02)
        return as_it_is(*arguments)

    def terminate():
        if reached.wait(20):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(step_sizes, "_loss", slow)
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=terminate, daemon=True)
    thread.start()
    with pytest.raises(TrainingInterrupted):
        run.execute(job, run.Conditions(device="cpu"))
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before
    monkeypatch.setattr(step_sizes, "_loss", as_it_is)
    made = run.execute(job, run.Conditions(device="cpu"))
    assert made["resumes"] == 1 and made["model"]["sha256"] == calm["model"]["sha256"]
