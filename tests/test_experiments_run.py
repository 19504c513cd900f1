import json
import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from estimators_example import published
from flat import flat
from forms import eigenpro_classifier, kernel_ridge_classifier
from own_plan import own_configuration, own_plan
from running_example import job_spec
from shallows import KernelRidgeClassifier, Options, kernels
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.estimators.base import Estimator
from shallows.kernels import Gaussian, Matern
from shallows.solvers import EigenPro
from shallows_papers import cli, datasets
from shallows_papers.experiments.comparing import evaluations
from shallows_papers.experiments.planning import configuration, explain
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.runs import digest, fixed_parameters
from shallows_papers.experiments.running import calls, record, run
from shallows_papers.experiments.running.job import Conditions, Job, key_of, name_of
from shallows_papers.reference import __main__ as reference
from workflow_runs import PROJECT

METHODS = own_configuration().methods
CONDITIONS = Conditions(device="cpu", checkpoint_seconds=0.05)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    verified = datasets.fetch("mnist_demo", folder / "raw", embedded_root=PROJECT / "data" / "embedded", progress=False)
    steps = [{"subset": {"n_train": 400, "n_test": 100, "seed": 0}}, {"unit": {}}]
    datasets.prepare("mnist_demo", verified, folder / "prepared", steps)
    return folder / "prepared"


@pytest.fixture
def job(tmp_path, prepared):
    def make(method="eigenpro", marks=(1, 2, 5), seed=0, **parameters):
        fixed = fixed_parameters(METHODS[method], "classification")
        given = {"kernel": "gaussian", **fixed, "bandwidth": 5.0, **parameters}
        name = digest(method, marks, seed, given)
        spec = job_spec(method, given, METHODS[method], id=name, seed=seed, marks=list(marks))
        return Job(spec, prepared, tmp_path / "runs" / name, tmp_path / "checkpoints")

    return make


def eigenpro(job, **parameters):
    return job(**{"solver__rank": 20, "solver__n_subsample": 200, "solver__batch_size": 32, **parameters})


def test_a_run_with_marks_in_seconds_reaches_the_last_one_after_its_preparation(job, monkeypatch):
    def prepared_slowly(*args, **kwargs):
        time.sleep(0.3)
        return median(*args, **kwargs)

    median = kernels.median_bandwidth
    monkeypatch.setattr(kernels, "median_bandwidth", prepared_slowly)
    sizes = {"solver__batch_size": 100, "solver__block_size": 16}
    one = job("doubly_stochastic", marks=(1,), bandwidth="median", **sizes)
    one = replace(one, spec={**one.spec, "definition": {**one.spec["definition"], "marks": "seconds"}})
    made = run.execute(one, CONDITIONS)
    assert [row["budget"] for row in record.read(one.out)[1] if row["metric"] == "test_error"] == ["1"]
    assert made["effective"]["stopped_by"] == "max_seconds"


def test_a_run_leaves_a_record_and_a_curve_that_agree(job):
    one = eigenpro(job)
    made = run.execute(one, CONDITIONS)
    kept, curve = record.read(one.out)
    record.check(kept)
    assert kept == made
    assert [row["epoch"] for row in kept["metrics"]["marks"]] == [1, 2, 5]
    n_metrics = len(kept["metrics"]["final"])
    assert len(curve) == 3 * n_metrics and set(curve[0]) == {"epoch", "iteration", "seconds", "metric", "value"}
    last = {row["metric"]: float(row["value"]) for row in curve[-n_metrics:]}
    assert last == kept["metrics"]["final"]
    assert kept["effective"]["rank"] == 20 and kept["resumes"] == 0
    assert kept["times"]["total"] >= kept["times"]["training"] > 0
    assert {"train_error", "test_error", "train_l2", "test_l2"} <= kept["metrics"]["final"].keys()
    evaluations.evaluate([one.out / "record.json"], "epochs")
    # Asked again, it is computed again.
    assert not list(one.checkpoints.rglob("*.npz"))
    again = run.execute(one, CONDITIONS)
    assert again["resumes"] == 0 and again["times"]["total"] != made["times"]["total"]
    assert again["model"] == made["model"] and again["metrics"]["final"] == made["metrics"]["final"]
    again["metrics"]["best_epoch_on_the_test_data"] = 3
    (one.out / "record.json").write_text(json.dumps(again))
    with pytest.raises(ShallowsError, match="metrics"):
        evaluations.evaluate([one.out / "record.json"], "epochs")


def test_errors_are_those_of_the_fitted_estimator_in_percent(job, prepared):

    made = run.execute(eigenpro(job, marks=(3,)), CONDITIONS)
    data = datasets.load(prepared)
    model = eigenpro_classifier(
        bandwidth=5.0,
        rank=20,
        n_subsample=200,
        batch_size=32,
        tol=0.0,
        max_epochs=3,
        random_state=0,
        device="cpu",
        **published(eigenpro_classifier, "bandwidth"),
    ).fit(data.x_train, data.y_train)
    assert made["metrics"]["final"]["test_error"] == pytest.approx(100 * (1 - model.score(data.x_test, data.y_test)))
    assert made["metrics"]["final"]["train_error"] == pytest.approx(100 * (1 - model.score(data.x_train, data.y_train)))


def test_other_parameters_data_or_code_make_another_key(job):
    asked = eigenpro(job).spec
    key = key_of(asked, "0" * 64)
    assert key_of(asked, "1" * 64) != key
    assert key_of({**asked, "parameters": {**asked["parameters"], "solver__rank": 21}}, "0" * 64) != key
    assert key_of({**asked, "marks": [1, 2, 5, 10]}, "0" * 64) != key
    assert key_of({**asked, "target_ids": []}, "0" * 64) == key
    assert key_of({**asked, "code": "other"}, "0" * 64) != key


def test_a_run_that_fails_tells_which_one_it_is(job):
    one = eigenpro(job, bandwidth=-1.0)
    with pytest.raises(ShallowsError, match=r"eigenpro on .*bandwidth"):
        run.execute(one, CONDITIONS)
    assert not one.out.exists()


@pytest.mark.slow
def test_sigterm_saves_the_state_and_the_next_start_ends_with_the_same_coefficients(job, tmp_path):
    slow = eigenpro(job, marks=(1, 50, 400))
    calm = replace(slow, out=tmp_path / "calm", checkpoints=tmp_path / "calm_checkpoints")
    expected = run.execute(calm, CONDITIONS)

    def terminate():
        while not list(slow.checkpoints.rglob("checkpoint.npz")):
            time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=terminate)
    thread.start()
    with pytest.raises(TrainingInterrupted):
        run.execute(slow, Conditions(device="cpu", checkpoint_seconds=0.001))
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before
    assert not slow.out.exists()

    resumed = run.execute(slow, CONDITIONS)
    assert resumed["resumes"] == 1
    assert resumed["model"]["sha256"] == expected["model"]["sha256"] is not None
    for one, other in zip(resumed["metrics"]["marks"], expected["metrics"]["marks"], strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_a_preconditioner_made_beforehand_is_used_and_its_time_told(job, prepared, tmp_path):
    parameters = {"kernel": "gaussian", "bandwidth": 5.0, "rank": 20, "n_subsample": 200, "damping": 1.0}
    path = tmp_path / "preconditioners" / "one.npz"
    spec = {"call": METHODS["eigenpro"]["preconditioner"]["call"], "parameters": parameters, "seed": 3}
    run.make_preconditioner(spec, prepared, path, CONDITIONS)
    one = replace(eigenpro(job), preconditioner=path)
    made = run.execute(one, CONDITIONS)
    with np.load(path) as file:
        assert made["times"]["total"] > made["times"]["eigensystem"] >= float(file["numbers"][-1]) > 0
    assert made["effective"]["rank"] == 20


def test_a_spectrum_is_that_of_the_kernel_with_its_parameters(job):
    first = [
        run.execute(job("eigenspectrum", marks=(), n_subsample=200, n_eigenvalues=5, **kernel), CONDITIONS)["metrics"][
            "final"
        ]["first_eigenvalue"]
        for kernel in ({"kernel": "laplace"}, {"kernel": "matern", "kernel__nu": 0.5})
    ]
    assert first[0] == pytest.approx(first[1], rel=1e-5)


def test_the_outputs_on_the_test_part_are_kept_and_give_the_error_of_the_last_mark(job):
    for one in (eigenpro(job), job("krls", marks=(), bandwidth=5.0, alpha=1.0), job("smo", marks=())):
        made, folder = run.execute(one, CONDITIONS), one.out / "record.json"
        [found] = evaluations.evaluate([folder], "epochs", {"again": "error"}).values()
        assert found.curve["again"][None] == pytest.approx(made["metrics"]["final"]["test_error"])
    (one.out / "outputs.npz").write_bytes(b"damaged")
    with pytest.raises(ShallowsError, match=r"outputs\.npz cannot be read.*Delete it"):
        evaluations.evaluate([folder], "epochs", {"again": "error"})


def test_every_target_can_be_explained_at_every_scale():
    plan = own_plan()
    for target in plan.targets:
        for scale in configuration.SCALES:
            text = "\n".join(explain.explain(plan, target, scale))
            assert target in text and "about" in text
            runs = re.findall(r"^  (\S.* on .* \[.*\]), seeds .*\n(.*)$", text, re.MULTILINE)
            assert len(runs) == len({*runs}), (target, scale)
            assert "training" in text or not plan.series(target, scale)  # all its data may be missing


@pytest.mark.parametrize(
    "main",
    [
        lambda: explain.main([]),
        lambda: explain.main(["eigenpro_table6", "--scale", "laptop"]),
        lambda: reference.main(["list"]),
        lambda: cli.main(["data", "list"]),
    ],
    ids=["explain", "explain a target", "reference", "shallows"],
)
def test_a_reader_that_leaves_early_ends_a_command_without_a_word(main, monkeypatch, capfd):
    """As ``make explain | head`` does; Python flushes the output once more when it ends."""
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(Plan, "load", lambda *given, **settings: own_plan())
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        main()
    assert capfd.readouterr().err == ""


def test_a_run_that_diverges_is_a_result(job, capsys):
    one = eigenpro(job, solver__step=1e4, marks=(1, 2))
    made = run.execute(one, CONDITIONS)
    assert made["diverged"].startswith("Training diverged in epoch 1 with step_size=")
    assert record.read(one.out) == (json.loads((one.out / "record.json").read_text()), [])
    record.check(made)
    assert f"note: {name_of(one.spec)}: Training diverged" in capsys.readouterr().err
    assert not list(one.checkpoints.rglob("checkpoint.npz"))
    [found] = evaluations.evaluate([one.out / "record.json"], "epochs").values()
    assert found.diverged and found.curve == {}


def test_an_exact_solution_is_measured_once_at_no_mark_with_its_training_error(job, prepared):
    one = job("krls", marks=(), alpha=0.1)
    made = run.execute(one, CONDITIONS)
    kept, curve = record.read(one.out)
    record.check(kept)
    data = datasets.load(prepared)

    model = flat(
        KernelRidgeClassifier,
        solver="cholesky",
        bandwidth=5.0,
        alpha=0.1,
        random_state=0,
        device="cpu",
        **published(kernel_ridge_classifier, "bandwidth", "regularisation"),
    )
    model.fit(data.x_train, data.y_train)
    final = made["metrics"]["final"]
    assert final["test_error"] == pytest.approx(100 * (1 - model.score(data.x_test, data.y_test)))
    assert final["train_error"] == pytest.approx(100 * (1 - model.score(data.x_train, data.y_train)))
    assert kept["metrics"]["marks"] == [] and kept["effective"]["solver"] == "cholesky"
    assert {row["metric"]: float(row["value"]) for row in curve} == final
    assert set(curve[0]) == {"metric", "value"}


def test_any_estimator_of_scikit_learn_s_kind_is_measured_by_what_it_predicts(job, prepared):
    from sklearn.neighbors import KNeighborsClassifier

    one = job("nearest_neighbour", marks=())
    plain = {"n_neighbors": 1}
    made = run.execute(replace(one, spec={**one.spec, "parameters": plain}), CONDITIONS)
    data = datasets.load(prepared)
    model = KNeighborsClassifier(1).fit(data.x_train, data.y_train)
    assert made["metrics"]["final"] == {"test_error": pytest.approx(100 * (1 - model.score(data.x_test, data.y_test)))}
    assert made["times"]["training"] > 0 and made["model"]["sha256"] is None


def test_parameters_of_a_run_by_their_paths_make_objects():
    own = {"random_state": 3, "device": "cpu", "memory": None}

    def function(x, kernel="gaussian", options=None, random_state=None):
        return kernel, options, random_state

    given = calls.arguments(function, {"kernel": "matern", "kernel__nu": 2.5, "options__dtype": "float64"}, **own)
    expected = Matern(nu=2.5), Options(device="cpu", dtype="float64"), 3
    assert function(None, **given) == expected
    assert calls.arguments(function, {"kernel__bandwidth": 2.0}, random_state=3)["kernel"] == Gaussian(2.0)

    class Machine(Estimator):
        _named: ClassVar = {"solver": {"eigenpro": EigenPro}}

        def __init__(self, kernel="gaussian", solver="auto", random_state=None, options=None):
            self.kernel, self.solver, self.random_state, self.options = kernel, solver, random_state, options

    named = {"kernel": "matern", "kernel__nu": 2.5, "solver": "eigenpro"}
    made = calls.make_estimator(Machine, {**named, "solver__rank": 5}, **own)
    assert (made.kernel, made.options, made.random_state) == (Matern(nu=2.5), Options(device="cpu"), 3)
    assert made.solver.rank == 5
    paths = {name: calls.path_of(calls.make_estimator(Machine, named), name) for name in ("max_epochs", "max_seconds")}
    assert paths == {"max_epochs": "solver__max_epochs", "max_seconds": "options__max_seconds"}
