import importlib
import inspect
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from own_plan import own_configuration, own_plan, small_plan
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers import datasets
from shallows_papers.experiments import command_line
from shallows_papers.experiments.identity import signatures
from shallows_papers.experiments.planning import target_entry
from shallows_papers.experiments.planning.configuration import SCALES
from shallows_papers.experiments.planning.plan import Plan
from workflow_runs import PROJECT, environment


def test_planning_imports_nothing_heavy():
    heavy = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "snakemake")
    program = f"""
import sys
from shallows_papers.experiments.identity import project_modules
from shallows_papers.experiments import command_line
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.costs import Requests
Plan.load({str(PROJECT)!r})
project_modules.SHALLOWS.closure(["shallows:KernelRidgeClassifier"])
print([name for name in {heavy!r} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(PROJECT), check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("scale", SCALES)
def test_a_run_and_a_preconditioner_are_found_by_the_name_in_their_path(plan, scale):
    for run in plan.runs(scale).values():
        assert plan.run_named(scale, run.folder.rpartition("/")[2]) is run
    for one in plan.preconditioners(scale).values():
        assert plan.preconditioner_named(scale, one.path.rpartition("/")[2].removesuffix(".npz")) is one
    with pytest.raises(UnknownNameError, match="run"):
        plan.run_named(scale, "gaussian-seed0-0123456789")


def test_data_that_a_person_supplies_are_looked_for_below_the_folder_of_the_run(tmp_path, monkeypatch):
    """Which another workflow may run from, or `--directory` name."""
    monkeypatch.chdir(tmp_path)
    places = []
    monkeypatch.setattr(
        "shallows_papers.datasets.download.supplied_files.is_there",
        lambda entry, place, mirror: places.append(place) or True,
    )
    plan = Plan(own_configuration(), datasets.catalogue())
    plan.runs("demo")
    supplied = {name for name, entry in plan.catalogue.items() if entry.state == "supplied"}
    assert places and {place.as_posix() for place in places} <= {f"data/raw/{name}" for name in supplied}


def test_a_run_that_two_targets_need_is_run_once_to_the_marks_of_both():
    plan = small_plan()
    runs = plan.runs("demo")
    assert len(runs) == 4
    (shared,) = plan.runs_of("second", "demo")
    assert shared.targets == ("first", "second")
    assert shared.marks == (1, 2, 5)
    assert shared.id in {run.id for run in plan.runs_of("first", "demo")}


def test_the_identity_is_dataset_variant_method_parameters_and_seed():
    run = next(iter(small_plan().runs("demo").values()))
    for change in (
        {"dataset": "a9a_demo"},
        {"variant": "plain"},
        {"method": "kernel_sgd"},
        {"parameters": {**run.parameters, "solver__rank": 11}},
        {"seed": 7},
    ):
        assert replace(run, **change).id != run.id
    backwards = dict(reversed(run.parameters.items()))
    for same in ({"marks": (1,)}, {"targets": ()}, {"scale": "paper"}, {"parameters": backwards}):
        assert replace(run, **same).id == run.id


def changed(changes, **settings):
    """The plan of the small configuration with changed parameters."""
    return Plan.load(PROJECT, {"configuration": str(PROJECT / ".test/config"), "changes": changes, **settings})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"bandwidth": 8}, {"bandwidth": 8, "solver__rank": 20}),
        (
            {"bandwidth": "8.5", "max_epochs": "1e1"},
            {"bandwidth": 8.5, "solver__max_epochs": 10.0},
        ),  # as on a command line
        ({"EigenPro": {"rank": 30}}, {"bandwidth": 5.0, "solver__rank": 30}),
        ({"rank": 10, "EigenPro": {"rank": 30}}, {"solver__rank": 30}),
        ({"max_epochs": 9}, {"solver__max_epochs": 9}),  # a parameter that only the method has
    ],
)
def test_parameters_of_a_target_can_be_changed_and_its_results_go_elsewhere(changes, expected):
    plan, usual = changed({"small_table": changes}), changed({})
    for run in plan.runs("demo").values():
        assert {name: run.parameters[name] for name in expected} == expected
    assert not set(plan.runs("demo")) & set(usual.runs("demo"))
    assert re.fullmatch(r"results/changes/small_table-[A-Za-z_-]+-[0-9a-f]{10}", plan.configuration.settings["results"])
    assert usual.configuration.settings["results"] == "results"
    assert changed({"small_table": changes}, results="mine").configuration.settings["results"] == "mine"


def test_a_changed_parameter_is_told_beside_the_paper_and_changes_no_other_target():
    (series,) = changed({"small_table": {"bandwidth": 8, "batch_size": 16}}).series("small_table", "demo")
    assert series.altered == {"bandwidth": (8, 5.0), "solver__batch_size": (16, "its default")}
    whole = Plan.load(PROJECT, {"changes": {"eigenpro_table6": {"damping": 0.5}}})
    for target in ("eigenpro_table8", "eigenpro_fig3_eigenspectrum"):
        assert whole.series(target, "demo") == own_plan().series(target, "demo")
    # Two of its methods have a damping, and the others stay as they are.
    dampings = {one.method: one.parameters.get("solver__damping") for one in whole.series("eigenpro_table6", "demo")}
    assert dampings == {"EigenPro": 0.5, "EigenPro (ours)": 0.5, "Pegasos": None, "Pegasos (ours)": None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"small_tabel": {"bandwidth": 8}}, "There is no target 'small_tabel'. Did you mean 'small_table'"),
        (
            {"small_table": {"bandwith": 8}},
            "'bandwith'. Did you mean 'bandwidth'",
        ),
        ({"small_table": {"EigenPro": {"rnak": 8}}}, "no parameter or method of small_table 'rnak'"),
        ({"small_table": {"EigenPro": 8}}, "EigenPro is a method of small_table, not a parameter"),
        ({"small_table": 8}, "8 is not of type 'object'"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(changes, message):
    with pytest.raises(ShallowsError, match=re.escape(message)):
        changed(changes)


def test_evaluation_points_in_seconds_make_another_run_of_the_same_method():
    def timed(paper):
        run = {"settings": {"kernel": ["Gaussian"]}, "marks": {"seconds": [1, 5]}}
        paper["targets"]["first"]["scales"]["demo"]["runs"].append(run)

    plan = small_plan(timed)
    series = [one for one in plan.series("first", "demo") if one.setting == {"kernel": "Gaussian"}]
    plain, timed = (plan.runs("demo")[one.run_ids[0]] for one in series)
    assert (plain.unit, timed.unit, timed.marks) == ("", "seconds", (1, 5)) and plain.id != timed.id
    assert replace(timed, unit="", marks=plain.marks).id == plain.id
    assert plain.folder.replace(plain.id, f"seconds-{timed.id}") == timed.folder
    methods = plan.configuration.methods
    assert (timed.spec(methods)["unit"], "unit" in plain.spec(methods)) == ("seconds", False)
    assert timed.spec(methods)["definition"] == {**plain.spec(methods)["definition"], "marks": "seconds"}
    assert timed.cost.seconds == 6
    assert target_entry.marks({"marks": {"from": 2, "to": 6, "step": 2}}) == (2, 4, 6)


def test_every_run_of_a_method_with_a_preconditioner_reads_it_and_counts_its_code(plan):
    methods = plan.configuration.methods
    for scale in SCALES:
        runs = plan.runs(scale).values()
        assert {run.method for run in runs if run.preconditioner} >= {"eigenpro", "eigenpro_2017", "eigenpro_features"}
        for run in runs:
            assert bool(run.preconditioner) == ("preconditioner" in methods[run.method]), run
            assert run.preconditioner is None or run.preconditioner.files.items() <= plan.files_of(run).items()


@pytest.mark.parametrize(
    ("others", "n_preconditioners"),
    [
        ({"Batches": ("eigenpro", {"solver__batch_size": 8})}, 4),
        # The same parameters of two functions.
        ({"Half": ("eigenpro", {"solver__power": 0.5}), "Released": ("eigenpro_2017", {})}, 12),
    ],
)
def test_a_preconditioner_is_shared_by_the_runs_that_need_the_same_one(others, n_preconditioners):
    def with_others(paper):
        for name, (method, given) in others.items():
            parameters = {"solver__rank": 10, "solver__n_subsample": 100, **given}
            paper["targets"]["first"]["methods"][name] = {"method": method, "parameters": parameters}

    plan = small_plan(with_others)
    assert len(plan.runs("demo")) == 4 * (1 + len(others))
    assert len(plan.preconditioners("demo")) == n_preconditioners


@pytest.mark.parametrize(
    ("change", "nearest"),
    [
        (lambda target: target["scales"]["demo"]["data"]["Digits"].update(dataset="mnist_dmeo"), "mnist_demo"),
        (lambda target: target["scales"]["demo"]["data"]["Digits"].update(variant="unti"), "unit"),
        (lambda target: target["scales"]["demo"]["data"]["Digits"].update(variant=["plain", "unti"]), "unit"),
        (lambda target: target["methods"]["EigenPro"].update(method="eigenpor"), "eigenpro"),
        (
            lambda target: target["methods"]["EigenPro"]["parameters"].update(solver__n_subsmaple=100),
            "solver__n_subsample",
        ),
        (lambda target: target["settings"]["kernel"]["Laplace"].update(bandwith=1.0), "bandwidth"),
        (
            lambda target: target["scales"]["demo"]["runs"][0].update(parameters={"solver__dampin": 1.0}),
            "solver__damping",
        ),
        (lambda target: target["scales"]["demo"]["runs"][0].update(methods=["EigenPr"]), "EigenPro"),
        (lambda target: target["scales"]["demo"]["runs"][0].update(settings={"kernle": ["Gaussian"]}), "kernel"),
        (lambda target: target["scales"]["demo"]["runs"][0].update(settings={"kernel": ["Gausian"]}), "Gaussian"),
    ],
)
def test_an_unknown_name_in_a_target_names_the_nearest_and_the_place(change, nearest):
    plan = small_plan(lambda paper: change(paper["targets"]["first"]))
    with pytest.raises(UnknownNameError, match=f"{nearest}.*target first, scale demo"):
        plan.runs("demo")


def test_signatures_that_are_read_from_the_sources_are_those_of_what_is_called(plan):
    places = {place for method in plan.configuration.methods.values() for place in method["call"].values()}
    read = {place: signatures.parameters(place) for place in places if place.startswith("shallows")}
    assert sum(names is not None for names in read.values()) > 0.8 * len(read) > 20
    for place, names in read.items():
        module, _, name = place.partition(":")
        parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters.values()
        open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters)
        constants = (bool, int, float, str, type(None), tuple)
        told = {one.name: one.default if isinstance(one.default, constants) else None for one in parameters}
        for name, value in told.items():
            if isinstance(value, tuple) and names and names[name] is None:
                told[name] = None  # given by the name of a constant
        assert names == (None if open_ended else told), place
    assert signatures.parameters("sklearn.svm:SVC") is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["eigenpro_tabel6"], "Did you mean 'eigenpro_table6'"),
        (["results/demo/tables/eigenpro_tabel6.csv"], "Did you mean 'eigenpro_table6'"),
        (["results/dmeo/tables/eigenpro_table6.csv"], "Did you mean 'demo'"),
        (["results/demo/tabels/eigenpro_table6.csv"], "Did you mean 'tables'"),
        (["results/demo/tables/eigenpro_table6.cvs"], "Did you mean 'csv'"),
        (["results/demo/figures/eigenpro_table8.svg"], "no figure. Ask for tables/eigenpro_table8"),
        (["data/raw/mnits/verified.json"], "Did you mean 'mnist'"),
        (["data/prepared/mnist/unti"], "Did you mean 'unit'"),
        (["hamster"], "There is no target 'hamster'"),
        (["compare"], "compare --config dataset=my.csv"),
        (["eigenpro_table6.csv"], "no target 'eigenpro_table6.csv'. Did you mean 'eigenpro_table6'?"),
        (["other/place.txt"], "There is no target 'other/place.txt'"),
        (["report", "--set-resources=trian:runtime=1"], "Did you mean 'train'?"),
        (["report", "--set-threads=trian=8"], "Did you mean 'train'?"),
        (["--until", "trian"], "There is no target 'trian'. Did you mean 'train'?"),
        (["all", "demo", "--config", "scale=demo", "x=eigenpro_tabel6"], None),
        (["results/laptop/tables/eigenpro_table6.csv"], None),
    ],
)
def test_words_of_a_command_line_are_checked_and_the_nearest_right_one_is_named(plan, monkeypatch, words, told):
    monkeypatch.setattr("sys.argv", ["snakemake", "-n", "--cores", "1", *words])
    stages = ["train", "report", "demo"]
    if told is None:
        command_line.check_command_line(plan, None, stages)
        return
    with pytest.raises(ShallowsError, match=re.escape(told)):
        command_line.check_command_line(plan, None, stages)
