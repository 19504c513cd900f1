"""Jobs: their logs, what they ask a batch system for, and how one continues in another when its time is over."""

import io
import json
import os
import re
import stat
import sys
import threading
import time

import pytest

from own_plan import own_plan
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.training import Checkpoint
from shallows_papers.experiments import command_line
from shallows_papers.experiments.planning import costs, slurm
from shallows_papers.experiments.planning.costs import Requests
from shallows_papers.experiments.running import batch_system, cards, run, snakemake_process
from shallows_papers.experiments.running.batch_system import stopping_by_signal
from shallows_papers.experiments.running.job import Conditions, Job
from shallows_papers.experiments.running.journal import journal
from workflow_runs import PROJECT

COST = costs.Cost(60.0, 10**9)


def program(folder, name, script):
    """A program of Slurm's that says what a test wants, first on the path."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_MEM_PER_NODE", raising=False)
    return lambda name, script: program(folder, name, script)


def test_more_memory_and_time_is_asked_for_at_every_attempt_up_to_four_times():
    asked = [(Requests().megabytes(COST, attempt), Requests().minutes(COST, attempt)) for attempt in (1, 2, 3, 4, 20)]
    assert asked == [(2100, 14), (3800, 28), (7200, 56), (7200, 56), (7200, 56)]


@pytest.mark.parametrize(("scale", "most"), [("demo", 100), ("laptop", 200)])
def test_each_paper_is_a_hundred_or_two_of_jobs(scale, most):
    plan = own_plan()
    requests = Requests.of(plan.configuration.settings)
    profiles = "".join(path.read_text() for path in PROJECT.glob("profiles/*/config.yaml"))
    (together,) = {int(number) for number in re.findall(r"short_\w+=(\d+)", profiles)}
    for paper, targets in plan.papers.items():
        runs = {run.id: run for target in targets for run in plan.runs_of(target, scale)}
        shared = {run.preconditioner.id: run.preconditioner for run in runs.values() if run.preconditioner}
        jobs = len({(run.dataset, run.variant) for run in runs.values()})
        for members in (runs, shared):
            short = sum(requests.is_short(one.cost) for one in members.values())
            jobs += len(members) - short + -(-short // together)
        assert jobs < most, (paper, jobs)


def test_preparations_ask_by_the_size_of_their_data():
    plan = own_plan()
    small = plan.cost_of_preparation("mnist_demo", "unit")
    every = {plan.cost_of_preparation(run.dataset, run.variant) for run in plan.runs("paper").values()}
    large = max(every, key=lambda cost: cost.seconds)
    assert small.seconds < 60 and Requests().megabytes(small) < 1700
    assert large.seconds > 3600 and large.memory_bytes > 4 * 10**9


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("AccountingStorageType   = accounting_storage/none", False),
        ("AccountingStorageType   = (null)", False),
        ("AccountingStorageType   = accounting_storage/slurmdbd", True),
        ("", True),
    ],
)
def test_whether_slurm_keeps_accounts_is_asked(programs, said, kept):
    programs("scontrol", f"echo '{said}'")
    assert slurm.keeps_accounts() is kept


def test_the_largest_node_is_asked_for(programs):
    programs("sinfo", "echo '8|64000+|(null)|1-00:00:00'; echo '32|16000|gpu:a100:4(S:0-1),nvme:1|30:00'")
    largest = slurm.nodes()
    assert largest == slurm.Nodes(cores=32, megabytes=64000, gpus=4, minutes=1440)
    assert slurm.fitted(Requests(64, 2000, 5), largest) == Requests(32, 1440, 5)
    programs("sinfo", "echo '8|64000|(null)|infinite'")
    assert slurm.nodes() == slurm.Nodes(8, 64000, 0, None)
    programs("sinfo", "exit 1")
    assert slurm.nodes() is None


def test_inside_a_job_no_more_threads_are_asked_for_than_it_was_given(monkeypatch):
    for name in ("SLURM_JOB_ID", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "2")
    assert slurm.inside_job(Requests(16)) == Requests(16)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert slurm.inside_job(Requests(16)) == Requests(2) and slurm.inside_job(Requests(1)) == Requests(1)


def test_a_job_that_no_node_can_take_is_told_before_it_waits_for_ever():
    node = slurm.Nodes(4, 2099, 0, None)
    with pytest.raises(ShallowsError, match=r"1 jobs .*2,099 MB.*the largest is much with 2,100 MB.*memory: 2GB"):
        slurm.check([("much", 2100), ("little", 570)], node, gpus=0)
    with pytest.raises(ShallowsError, match="no node that has one"):
        slurm.check([], node, gpus=1)
    slurm.check([("much", 1500)], node, gpus=0)


@pytest.mark.parametrize(
    ("words", "used"),
    [
        (["--profile", "profiles/slurm"], True),
        (["-n", "--profile=profiles/slurm-gpu/", "all"], True),
        (["--executor", "slurm"], True),
        (["-e", "slurm", "--jobs", "5"], True),
        (["--executor", "slurm-jobstep", "--profile", "profiles/slurm"], False),
        (["--profile", "profiles/gpu"], False),
        (["--cores", "2"], False),
    ],
)
def test_a_command_line_says_whether_slurm_is_used(words, used):
    assert slurm.is_used(words) is used


@pytest.fixture
def job(monkeypatch, tmp_path, programs):
    """A job of Slurm that runs, and where its requests to be queued again are noted."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    programs("squeue", 'echo "RUNNING"')
    programs("scontrol", f'echo "$@" >> {tmp_path}/asked')
    return tmp_path / "asked"


def test_a_training_that_is_stopped_goes_back_into_the_queue(job, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(batch_system, "SECONDS_TO_END", 0.0)
    with pytest.raises(SystemExit), journal(tmp_path / "log"):
        raise TrainingInterrupted("saved")
    assert job.read_text() == "requeue 7\n"
    assert "queues it again" in (tmp_path / "log").read_text() and "Error" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("left", "seconds"),
    [("1-00:00:00", 86400 - 120), ("2:00:00", 7200 - 120), ("1:40", 80), ("0:30", 24), ("UNLIMITED", None), ("", None)],
)
def test_a_job_saves_its_state_some_time_before_its_time_is_over(job, programs, left, seconds):
    programs("squeue", f'[ "$3" = --format=%L ] && echo "{left}"')
    assert batch_system.seconds_until_saving() == seconds


def test_a_training_is_told_to_stop_when_its_time_is_nearly_over(job, programs, tmp_path):
    programs("squeue", "echo 0:01")
    checkpoint = Checkpoint(tmp_path / "checkpoint", "key")
    with stopping_by_signal(checkpoint):
        assert not checkpoint.stop_requested
        time.sleep(1.2)
        assert checkpoint.stop_requested
    programs("squeue", "echo 1:00:00")
    later, threads = Checkpoint(tmp_path / "later", "key"), threading.active_count()
    with stopping_by_signal(later):
        assert threading.active_count() == threads + 1
    assert not later.stop_requested


def test_a_failure_a_canceled_job_and_one_that_slurm_refuses_are_not_queued_again(
    job, tmp_path, programs, monkeypatch, capsys
):
    with pytest.raises(SystemExit), journal(tmp_path / "log"):
        raise ShallowsError("diverged")
    programs("squeue", 'echo "COMPLETING"')
    with pytest.raises(SystemExit), journal(tmp_path / "log"):
        raise TrainingInterrupted("saved")
    assert not job.exists() and "Error: saved" in (tmp_path / "log").read_text()
    programs("squeue", 'echo "RUNNING"')
    programs("scontrol", "echo 'Requested operation is presently disabled' >&2; exit 1")
    assert batch_system.queue_again() is False
    assert "presently disabled" in capsys.readouterr().err
    monkeypatch.delenv("SLURM_JOB_ID")
    assert batch_system.queue_again() is False


def test_the_memory_that_a_job_asked_for_is_a_limit_to_its_budget_where_slurm_does_not_name_it(job, monkeypatch):
    from shallows import arrays
    from shallows.utils import memory_limits

    monkeypatch.setattr(os, "environ", {**os.environ})
    batch_system.declare_memory({"mem_mb": 700})
    assert 700 * 2**20 in [limit.size for limit in memory_limits.limits()]
    assert arrays.memory_budget(None) < 0.7 * 700 * 2**20


def waited_for(folder, appears_after=None):
    """How often a file of prepared data was looked for, and whether it was there in the end."""
    path, looks = folder / "x_train.npy", []

    def sleep(seconds):
        looks.append(seconds)
        if appears_after and len(looks) in (appears_after - 1, appears_after):
            path.write_bytes(b"" if len(looks) < appears_after else b"content")

    batch_system.wait_for_files([folder / "prepared.json", path], sleep)
    return len(looks), path.exists()


def test_a_file_that_a_shared_folder_shows_late_is_waited_for_in_a_job_alone(job, tmp_path, monkeypatch):
    (tmp_path / "prepared.json").write_text("{}")
    assert waited_for(tmp_path, appears_after=4) == (4, True)
    assert waited_for(tmp_path) == (0, True)
    (tmp_path / "x_train.npy").unlink()
    for name in batch_system.IN_A_JOB:
        monkeypatch.delenv(name, raising=False)
    assert waited_for(tmp_path) == (0, False)


def test_a_file_that_was_lost_is_waited_for_no_longer_than_a_minute_and_then_told(job, tmp_path, monkeypatch):
    (tmp_path / "prepared.json").write_text(json.dumps({"arrays": {"x_train": {}}, "sha256": "0"}))
    looks, there = waited_for(tmp_path)
    assert not there and looks * batch_system.LOOK_SECONDS == batch_system.LATENCY_SECONDS
    monkeypatch.setattr(batch_system, "LATENCY_SECONDS", 0.0)
    with pytest.raises(ShallowsError, match=r"x_train\.npy cannot be read: .* Prepare the dataset again"):
        run.execute(Job({}, tmp_path, None, tmp_path), Conditions())
    (tmp_path / "x_train.npy").write_bytes(b"")
    with pytest.raises(ShallowsError, match=r"x_train\.npy is empty. Prepare the dataset again"):
        run.execute(Job({}, tmp_path, None, tmp_path), Conditions())


def test_each_job_has_a_card_to_itself_and_gives_it_back(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    with cards.reserve_one_gpu(1, tmp_path) as first:
        assert (first, os.environ["CUDA_VISIBLE_DEVICES"]) == ("0", "0")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")  # as another process sees it
        with cards.reserve_one_gpu(1, tmp_path) as second:
            assert second == "3"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    with cards.reserve_one_gpu(1, tmp_path) as again:
        assert again == "0"


@pytest.mark.parametrize(("shown", "wanted"), [("0,3", 0), ("3", 1), ("", 1)])
def test_where_there_is_nothing_to_choose_the_cards_are_left_alone(tmp_path, monkeypatch, programs, shown, wanted):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    with cards.reserve_one_gpu(wanted, tmp_path) as card:
        assert card is None and os.environ["CUDA_VISIBLE_DEVICES"] == shown
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    for says, listed in (("echo 0; echo 1", ["0", "1"]), ("exit 9", [])):
        programs("nvidia-smi", says)
        assert cards.visible() == listed


def test_stages_on_the_command_line_of_a_job_are_taken_as_snakemake_encodes_them():
    words = ["--set-resources", "base64//dHJhaW46cnVudGltZT0y", "--set-resource-scopes", "in_turn=local"]
    command_line.check_stages(words, ["train"])
    with pytest.raises(ShallowsError, match="Did you mean 'train'"):
        command_line.check_stages(["--set-resources", "trian:runtime=2"], ["train"])


@pytest.mark.parametrize("words", [["--default-storage-provider", "fs"], ["--default-storage-provider=fs"]])
def test_a_storage_without_the_command_that_copies_is_told_before_anything_runs(monkeypatch, tmp_path, words):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ShallowsError, match="rsync, which is not on the PATH"):
        command_line.check_storage(words)
    command_line.check_storage(["--default-storage-provider", "s3"])
    (tmp_path / "rsync").write_text("#!/bin/sh")
    (tmp_path / "rsync").chmod(0o755)
    command_line.check_storage(words)


# The log of a job: whole lines for those who watch, kept in a file, errors in their own words.


class Unbuffered(io.StringIO):
    """What another process at the other end of a pipe would be given, piece by piece."""

    def __init__(self):
        super().__init__()
        self.pieces = []

    def write(self, text):
        self.pieces.append(text)
        return len(text)


def watch(monkeypatch):
    stream = Unbuffered()
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def test_a_line_is_passed_on_in_one_piece(monkeypatch, tmp_path):
    seen = watch(monkeypatch)
    with journal(tmp_path / "log"):
        print("a run:", 1.5, flush=True)
        print("another")
    assert seen.pieces == ["a run: 1.5\n", "another\n"]


def test_the_log_keeps_lines_also_unfinished_ones_and_not_the_drawings_of_a_bar(monkeypatch, tmp_path):
    seen = watch(monkeypatch)
    with journal(tmp_path / "log"):
        print("\r 10 %", end="")
        print("\r 20 %", end="")
        print("\ndone")
        print("half", end="")
    assert seen.pieces[:2] == ["\r 10 %", "\r 20 %"] and seen.pieces[-1] == "half"
    assert (tmp_path / "log").read_text() == "\ndone\nhalf"


def test_only_warnings_and_errors_are_passed_on_where_make_shows_the_output(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(snakemake_process.WATCHER, "1")
    with journal(tmp_path / "log"):
        print("a result")
        print("a warning", file=sys.stderr)
    assert capsys.readouterr() == ("", "a warning\n")
    assert (tmp_path / "log").read_text() == "a result\na warning\n"


def test_an_error_on_purpose_ends_the_job_with_its_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit), journal(tmp_path / "log"):
        raise ShallowsError("the bandwidth is 0; it has to be greater than 0")
    assert capsys.readouterr().err == "Error: the bandwidth is 0; it has to be greater than 0\n"
    assert "the bandwidth is 0" in (tmp_path / "log").read_text()


def test_a_fault_leaves_its_traceback_in_the_log(tmp_path):
    with pytest.raises(ZeroDivisionError), journal(tmp_path / "log"):
        1 / 0  # noqa: B018
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()
