"""What a run uses of the project is what it was planned to use."""

import importlib
import os
import sys
import traceback
from dataclasses import replace

import numpy as np
import pytest

from own_plan import own_configuration, own_plan
from shallows.errors import ShallowsError
from shallows_papers import datasets
from shallows_papers.experiments.identity import code
from shallows_papers.experiments.planning.configuration import SCALES
from shallows_papers.experiments.planning.runs import fixed_parameters
from shallows_papers.experiments.running.calls import callable_for, make_estimator, path_of
from shallows_papers.experiments.running.job import Conditions, Job
from shallows_papers.experiments.running.proof import FOLDER, covered_by
from shallows_papers.experiments.running.run import execute

METHODS = own_configuration().methods


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda: importlib.import_module("shallows.kernels.heat"), "shallows.kernels.heat"),
        (lambda: open(FOLDER / "shallows" / "gram" / "fused.cu").close(), "shallows/gram/fused.cu"),
    ],
    ids=["a module that is looked up by its name", "a data file"],
)
def test_a_file_that_is_not_planned_is_named(use, name):
    importlib.import_module("shallows.kernels.heat")  # also if something else has imported it before
    with pytest.raises(ShallowsError, match=rf"The run used {name}, which its plan does not list"), covered_by(()):
        use()
    with covered_by([name]):
        use()
    with covered_by(None):
        use()


def test_files_of_others_and_what_is_imported_with_a_planned_module_are_allowed(tmp_path):
    with covered_by(["shallows.solvers.linear_svm.newton"]):
        importlib.import_module("shallows.solvers.linear_svm")
        importlib.import_module("json")
        (tmp_path / "shallows").write_text("")


def small_run(method):
    """The run of a method that takes the least, at the smallest scale that has any; on data of the repository."""
    runs = [[run for run in own_plan().runs(scale).values() if run.method == method] for scale in SCALES]
    found = min(next(filter(None, runs), []), key=lambda run: run.cost.seconds, default=None)
    if found is None or found.scale == SCALES[0]:
        return found
    return replace(found, dataset=OF_TASK[task_of(METHODS[method])], variant="unit")


OF_TASK = {"classification": "a9a_demo", "regression": "dsg_regression"}


def task_of(definition):
    return next(one for one in OF_TASK if {one, "any"} & {*definition["call"]})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Prepared data of the repository, made when they are first asked for."""
    folder = tmp_path_factory.mktemp("data")

    def make(dataset, variant, rows=None):
        place = folder / dataset / f"{variant}-{rows}"
        if not place.exists():
            datasets.fetch(dataset, folder / "raw")
            steps = own_configuration().steps_of(variant)
            if rows is not None and not any("subset" in step or "split" in step for step in steps):
                steps = [{"subset": {"n_train": rows, "n_test": rows // 4}}, *steps]
            datasets.prepare(dataset, folder / "raw" / dataset / "verified.json", place, steps, None)
        return place

    return make


def has_ended_well(function):
    """Whether a function ends without an error in a child, so that its imports are its own."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("method", [name for name in METHODS if small_run(name)])
def test_a_run_of_every_method_uses_what_is_planned(method, prepared, tmp_path):
    run, plan = small_run(method), own_plan()
    rows = None if METHODS[method]["runs"] == "analysis" else 800
    planned, place = plan.names_of_files(run), prepared(run.dataset, run.variant, rows)
    is_trained = METHODS[method]["runs"] == "estimator" and run.unit != "seconds"
    job = {**plan.job(run), "marks": [1] if is_trained else [*run.marks[:1]]}
    job = Job(job, place, tmp_path, tmp_path / "checkpoints", planned=planned)
    assert has_ended_well(lambda: execute(job, Conditions("cpu")))


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("method", [name for name in METHODS if "compare" in METHODS[name]])
def test_a_fit_of_every_method_that_is_compared_uses_what_is_planned(method, prepared):
    definition = METHODS[method]
    if definition.get("extra") == "nets":
        pytest.importorskip("torch")
    task = task_of(definition)
    data = datasets.load(prepared(OF_TASK[task], "unit"))
    x, y = (np.asarray(one[:300]) for one in (data.x_train, data.y_train))
    planned = [*code.files_of_comparison(definition), *(one.partition(":")[0] for one in definition["call"].values())]

    def fit():
        with covered_by(planned):
            make = callable_for(definition["call"], task)
            estimator = make_estimator(make, fixed_parameters(definition, task), random_state=0)
            short = {path_of(estimator, name): 2 for name in ("max_epochs", "n_iter")}
            known = estimator.get_params()
            estimator.set_params(**{path: value for path, value in short.items() if path in known})
            estimator.fit(x, y).predict(x)

    assert has_ended_well(fit)
