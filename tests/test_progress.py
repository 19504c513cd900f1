"""Parts of long work report their progress, and runs write where they are for others to list."""

import json
import os
import socket
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from shallows import KernelRidgeClassifier, KernelRidgeRegressor, Options, gram, kernels
from shallows.solvers import EigenPro
from shallows.utils import progress
from shallows_papers import cli
from shallows_papers.experiments.running import status

DRAWS = np.random.default_rng(0)


@pytest.fixture
def heard(monkeypatch):
    """What listeners get while the test lasts, without a pause between two reports."""
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.0)
    told = []
    with progress.listening(lambda *what: told.append(what)):
        yield told


def counts(heard, name):
    return [(done, total) for part, done, total, _ in heard if part == name]


def test_a_kernel_matrix_tells_of_every_tile(heard):
    points = kernels.augmented(DRAWS.normal(size=(50, 3)))
    gram.Gram(kernels.Gaussian(1.0), points, budget=2**30, tile=20)
    found = counts(heard, "kernel matrix")
    assert sorted(found) == [(done, 6) for done in range(7)]  # the upper triangle of 3 × 3 tiles


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("kernel matrix", 30, 120, 10.0), "kernel matrix, 25 %, about 30 s left"),
        (("evaluation", 120, 120, 10.0), "evaluation, 100 %"),
        (("eigensystem", 2, None, 100.0), "eigensystem, 2 min so far"),
    ],
)
def test_a_part_is_told_with_its_share_and_the_time_left(given, text):
    assert progress.progress_text(*given) == text


def test_a_verbose_fit_prints_lines_of_its_parts_and_a_quiet_one_none(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(progress.Lines.__init__, "__defaults__", (0.0,))
    X, y = DRAWS.normal(size=(80, 3)), np.arange(80) % 2
    KernelRidgeClassifier(solver=EigenPro(max_epochs=1), bandwidth=1.0).fit(X, y)
    assert "kernel matrix" not in capsys.readouterr().err
    KernelRidgeClassifier(solver=EigenPro(max_epochs=1), bandwidth=1.0, options=Options(verbose=1)).fit(X, y)
    assert "KernelRidgeClassifier: kernel matrix, 100 %" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------- the status of runs


def fitted_under(told, X):
    KernelRidgeRegressor(solver=EigenPro(max_epochs=3, tol=0.0), bandwidth=1.0, random_state=0).fit(
        X, X[:, 0], observers=[told]
    )


def test_a_run_writes_where_it_is_and_how_it_ended(tmp_path):
    X = DRAWS.normal(size=(60, 3))
    with status.Status(tmp_path, "eigenpro on digits", 3) as told:
        assert json.loads(told.path.read_text())["state"] == "running"
        fitted_under(told, X)
        found = json.loads(told.path.read_text())
        assert (found["state"], found["share"], found["resumes"]) == ("running", 1.0, 0)
        assert (found["host"], found["process"]) == (socket.gethostname(), os.getpid())
    assert json.loads(told.path.read_text())["state"] == "finished"


NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def write(folder, name, **about):
    given = {
        "run": name,
        "state": "running",
        "place": "epoch 2 of at most 8",
        "share": 0.25,
        "seconds_left": 600.0,
        "resumes": 1,
        "host": "node7",
        "process": 4242,
        "job": None,
        "written": (NOW - timedelta(seconds=about.pop("silent", 5))).isoformat(),
    }
    (folder / name).mkdir(parents=True)
    (folder / name / "status.json").write_text(json.dumps(given | about))


def test_runs_are_listed_with_where_they_are_and_what_became_of_them(tmp_path):
    here = {"host": socket.gethostname()}
    write(tmp_path / "demo", "a", job="77")
    write(tmp_path / "demo", "b", silent=600)
    write(tmp_path / "demo", "c", state="finished")
    write(tmp_path / "laptop", "d", **here, process=2**22 + 1)  # more than Linux numbers processes by
    write(tmp_path / "laptop", "e", **here, process=os.getpid(), share=None, seconds_left=None)
    write(tmp_path / "laptop", "f", silent=-90)  # a clock that runs ahead of this one
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "status.json").write_text("{half")
    rows = {row["run"]: row for row in status.statuses(tmp_path, now=NOW)}
    assert {name: row["state"] for name, row in rows.items()} == {
        "a": "running",
        "b": "silent",
        "d": "killed",
        "e": "running",
        "f": "running",
    }
    assert rows["a"] == {
        "state": "running",
        "where": "node7, job 77",
        "place": "epoch 2 of at most 8, 25 %",
        "left": "10 min",
        "resumes": "1",
        "heard": "5 s ago",
        "run": "a",
    }
    assert rows["b"]["left"] == rows["e"]["left"] == ""
    assert rows["f"]["heard"] == "0 s ago"
    assert [row["run"] for row in status.statuses(tmp_path, now=NOW)] == ["a", "e", "f", "b", "d"]


def test_the_command_prints_a_table_or_that_there_is_nothing(tmp_path, capsys):
    assert cli.main(["runs", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"No run in {tmp_path} is unfinished.\n"
    write(tmp_path, "eigenpro on digits", state="stopped")
    assert cli.main(["runs", str(tmp_path)]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == list(status.COLUMNS)
    assert row.startswith("stopped  node7, process 4242  epoch 2 of at most 8, 25 %")
    assert row.endswith("eigenpro on digits")
