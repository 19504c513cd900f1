"""Trainings that several processes share, from the command line and in the workflow: the model of one, and failures."""

import contextlib
import csv
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

import distributed_example
import shallows
from own_plan import own_plan
from shallows import KernelRidgeClassifier
from shallows.distributed import fitting
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows_papers import cli, datasets
from shallows_papers.experiments.planning.runs import FITTED_BY_SEVERAL
from shallows_papers.experiments.running import several_ranks
from shallows_papers.experiments.running.job import Conditions, Job
from workflow_runs import PROJECT, copy_project, snakemake

PRECISE = "solver__rank: 20, solver__n_subsample: 200, solver__batch_size: 90, options__dtype: float64"
SET = ("max_epochs=3", "batch_size=40", "n_subsample=150", "rank=30", "dtype=float64", "bandwidth=2")
FIT = ("fit", "digits.csv", "--target", "digit", "--set", *SET)


def close(one, other):
    """Equal but for the order of sums: some dozens of steps make about 1000 of the unit roundoff, 1e-16."""
    return np.abs(one - other).max() <= 1e-10 * np.abs(other).max()


@pytest.fixture
def digits(tmp_path, monkeypatch):
    x, y = load_digits(return_X_y=True)
    names = [f"pixel {place}" for place in range(64)]
    for name, rows, header in (("digits", np.c_[x, y][:400], [*names, "digit"]), ("new", x[400:420], names)):
        np.savetxt(tmp_path / f"{name}.csv", rows, fmt="%g", delimiter=",", header=",".join(header), comments="")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT / "src"))


@pytest.mark.slow
def test_the_command_line_fits_by_two_processes_what_it_fits_by_one(digits, capsys):
    command = ("-m", "shallows_papers.cli")
    status, said = distributed_example.run(2, *command, *FIT, "--out", "two", "--checkpoints", "checkpoints")
    assert status == 0 and said.count("was fitted to all 400 rows by 2 processes and saved") == 1, said
    assert "held out" not in said and os.path.exists("checkpoints/checkpoint.npz")
    assert cli.main([*FIT, "--out", "one"]) == 0
    one, two = (shallows.load(f"{name}/model.skops")[-1] for name in ("one", "two"))
    assert close(two.dual_coef_, one.dual_coef_) and type(two) is KernelRidgeClassifier
    assert cli.main(["predict", "two", "new.csv"]) == 0
    predicted = np.loadtxt("new.predictions.csv", skiprows=1)
    assert np.mean(predicted == load_digits().target[400:420]) > 0.8
    status, said = distributed_example.run(2, *command, *FIT, "--set", "bandwith=1")
    assert status != 0 and said.count("Did you mean 'bandwidth'?") == 1, said


def test_a_fit_by_several_processes_without_mpi_names_the_extra(digits, capsys, monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert cli.main([*FIT]) == 2
    assert "pip install 'shallows[cluster]'" in capsys.readouterr().err


@pytest.mark.workflow
def test_two_processes_of_the_workflow_find_what_one_finds(tmp_path):
    distributed_example.mpiexec()
    root = copy_project(tmp_path)
    paper = next((root / ".test" / "config" / "papers").glob("*/targets.yaml"))
    text = (
        paper.read_text()
        .replace("solver__rank: 20, solver__n_subsample: 200", PRECISE)
        .replace("seeds: [0, 1]", "seeds: [0]")
    )
    paper.write_text(text)
    assert PRECISE in text
    curves, keys = [], set()
    for ranks in (1, 2):
        given = ("configuration=.test/config", "ranks_seconds=0", f"ranks={ranks}", f"results=by{ranks}")
        done = snakemake(root, "--cores", "2", "--until", "train", "--config", *given)
        assert done.returncode == 0, done.stdout
        assert ("tasks=2, mpi=mpiexec" in done.stdout) == (ranks == 2)
        runs = root / f"by{ranks}" / "demo"
        [record] = runs.glob("runs/*/eigenpro/*/record.json")
        keys.add(json.loads(record.read_text())["run"]["key"])
        [curve] = runs.glob("runs/*/eigenpro/*/curve.csv")
        curves.append([float(row["value"]) for row in csv.DictReader(curve.open())])
    assert len(keys) == 1  # what a run is does not depend on the number of processes
    np.testing.assert_allclose(*curves, rtol=1e-10)
    assert curves[0] != curves[1]  # the sums had another order: the work was divided


def test_the_plan_knows_which_estimators_several_processes_fit():
    found = set()
    for name in shallows.estimators.__all__:
        Estimator = getattr(shallows.estimators, name)
        settings = {"solver": "eigenpro"} if name.startswith("KernelRidge") else {}
        with contextlib.suppress(ShallowsError, TypeError):  # other estimators; some need a parameter
            fitting.check_estimator(Estimator(**settings))
            found.add(name)
    assert found == FITTED_BY_SEVERAL


def test_what_is_evaluated_by_the_clock_and_what_one_process_alone_can_do_are_not_shared():
    plan = own_plan()
    methods = plan.configuration.methods
    shared = {run.method for run in plan.runs("laptop").values() if run.can_be_shared(methods)}
    assert {"eigenpro", "doubly_stochastic"} <= shared
    assert not shared & {"eigenpro_features", "kernel_sgd"}
    timed = [run for run in plan.runs("laptop").values() if run.unit == "seconds"]
    assert timed and not any(run.can_be_shared(methods) for run in timed)


@pytest.fixture
def job(tmp_path):
    spec = {"definition": {"call": {"any": "shallows:KernelRidgeClassifier"}}}
    return Job(spec, tmp_path, None, tmp_path), tmp_path / "run"


def started_by(script, job, tmp_path):
    """What a training gets whose starter is a script."""
    starter = tmp_path / "starter"
    starter.write_text(f"#!/bin/sh\n{script}\n")
    starter.chmod(0o755)
    one, folder = job
    return several_ranks.train(one, None, Conditions(ranks=2, launcher=str(starter)), folder, "key")


def test_processes_that_fail_are_told_with_what_they_said(job, tmp_path, capsys):
    with pytest.raises(ShallowsError, match=r"starter -n 2 ended with status 3"):
        started_by("echo the library is missing; exit 3", job, tmp_path)
    assert "the library is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("left", "error"), [('{"stopped": "at epoch 2"}', TrainingInterrupted), ('{"failed": "diverged"}', ShallowsError)]
)
def test_processes_that_were_stopped_or_refused_end_the_run_alike(job, tmp_path, left, error):
    with pytest.raises(error, match=r"at epoch 2|diverged") as raised:
        started_by(f"echo '{left}' > {job[1] / several_ranks.OUTCOME}", job, tmp_path)
    assert type(raised.value) is error


ENDLESS = """
import json, sys
from pathlib import Path
from shallows_papers.experiments.running import several_ranks
from shallows_papers.experiments.running.job import Conditions, Job

spec, prepared, folder = json.loads(sys.argv[1])
job = Job(spec, Path(prepared), None, Path(folder))
several_ranks.train(job, None, Conditions("cpu", None, 1e9, ranks=2), Path(folder) / "run", "key")
"""


@pytest.mark.slow
def test_processes_whose_starter_is_killed_save_their_state_and_end(tmp_path):
    distributed_example.mpiexec()
    stamp = datasets.fetch("mnist_demo", tmp_path / "raw", embedded_root=PROJECT / "data" / "embedded", progress=False)
    steps = [{"subset": {"n_train": 200, "n_test": 50, "seed": 0}}, {"unit": {}}]
    datasets.prepare("mnist_demo", stamp, tmp_path / "prepared", steps)
    parameters = {
        "bandwidth": 5.0,
        "solver": "eigenpro",
        "solver__rank": 10,
        "solver__n_subsample": 100,
        "solver__batch_size": 20,
        "solver__tol": 0.0,
    }
    call = {"any": "shallows:KernelRidgeClassifier"}
    spec = {"method": "eigenpro", "dataset": "mnist_demo", "seed": 0, "marks": [10**6], "parameters": parameters}
    spec["definition"] = {"runs": "estimator", "call": call}
    told = json.dumps([spec, str(tmp_path / "prepared"), str(tmp_path)])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT / "src")}
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, told], env=environment, stdout=subprocess.DEVNULL)

    def until(condition):
        for _ in range(distributed_example.SECONDS * 10):
            if condition():
                return
            time.sleep(0.1)
        pytest.fail("waited in vain")

    def state():
        path = tmp_path / "run" / "status.json"
        return json.loads(path.read_text()) if path.exists() else {"place": ""}

    try:
        until(lambda: state()["place"].startswith("epoch"))
    finally:
        process.kill()
    outcome = tmp_path / "run" / several_ranks.OUTCOME
    until(outcome.exists)
    assert json.loads(outcome.read_text())["stopped"].startswith("Training was stopped")
    assert state()["state"] == "stopped" and (tmp_path / "run" / "checkpoint.npz").exists()
