"""Leaderboards of the catalogue's datasets: what they take, what they refuse, and one made from end to end."""

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from own_plan import own_plan
from shallows.errors import ShallowsError
from shallows_papers import datasets
from shallows_papers.experiments import dataset_leaderboard
from shallows_papers.experiments.planning import configuration
from shallows_papers.experiments.user_data import comparison, leaderboard
from shallows_papers.experiments.user_data.model_selection import model_bytes
from shallows_papers.report import page
from workflow_runs import copy_project, snakemake

PLAN = own_plan()
SETTINGS = {
    "test": 0.2,
    "validation": 0.25,
    "rows": 1000,
    "sizes": {"laptop": {"n_train": 5000, "n_test": 800}, "paper": {"n_train": None, "n_test": None}},
}
CONFIGURATION = PLAN.configuration
SMALL = replace(CONFIGURATION, leaderboard=SETTINGS)


def steps(scale, name, purpose, configuration=SMALL):
    described, division = dataset_leaderboard.described(PLAN.catalogue[name]), configuration.leaderboard
    return comparison.steps(described, purpose, division, most=division["sizes"][scale])


def ask_for(name, scale="demo", **settings):
    """The comparison that a command line with dataset=name asks for."""
    given = {**CONFIGURATION.settings, "dataset": name, "scale": scale, **settings}
    return dataset_leaderboard.requested(replace(CONFIGURATION, settings=given))


# What it takes


def test_the_test_part_of_the_catalogue_is_the_test_part_and_choices_see_none_of_it():
    assert steps("laptop", "mnist", "test") == [
        {"subset": {"n_train": 5000, "n_test": 800, "seed": 0}},
        {"unit": {}},
    ]
    # The same 5,000 rows, of which a quarter would be 1,250 to choose by, and 1,000 are the most.
    assert steps("laptop", "mnist", "choose") == [
        {"subset": {"n_train": 5000, "seed": 0}},
        {"split": {"n": 1000, "seed": 1}},
        {"subset": {"n_train": 1000, "seed": 1}},
        {"unit": {}},
    ]
    assert steps("paper", "mnist", "test") == [{"unit": {}}]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("rcv1", []),
        ("adult_uci", [{"scale_columns": {}}, {"one_hot": {}}]),
        ("cpu_act", [{"scale_columns": {}}, {"center_target": {"scale": True}}]),
    ],
)
def test_features_are_scaled_by_what_the_catalogue_says_of_them(name, wanted):
    found = steps("paper", name, "test")
    assert [step for step in found if "split" not in step] == wanted


def test_every_dataset_with_a_target_and_features_has_one_at_every_scale():
    held = 0
    for name, dataset in PLAN.catalogue.items():
        if dataset.state == "supplied" or dataset_leaderboard._without(dataset):
            continue
        for scale in configuration.SCALES:
            found = ask_for(name, scale)
            board = PLAN.catalogue[found.dataset]
            choose, test = (found.steps[purpose] for purpose in ("choose", "test"))
            assert datasets.shape_after(board, choose)[0] <= datasets.shape_after(board, test)[0]
            assert len(datasets.check_steps(test)) == len(test)
        held += 1
    assert held > 40


def test_its_page_is_that_of_the_scale_and_no_model_is_saved(tmp_path, monkeypatch):
    found = ask_for("Adult", "laptop")
    assert found.page == f"{CONFIGURATION.settings['results']}/laptop/leaderboard/a9a.html"
    assert (found.model, found.seeds, {found.threads(name) for name in found.methods}) == ([], (0,), {1})
    (spec,) = found.specs("linear_ridge")
    assert (spec["scale"], spec["defaults"], spec["processor_seconds"]) == ("laptop", False, True)
    assert ask_for("mnist").dataset == ask_for("mnist_demo").dataset == "mnist_demo"  # the embedded part
    assert ask_for("MNIST", "laptop").dataset == "mnist"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mnist").write_text("a,y\n" + "1,0\n2,1\n" * 20)
    assert ask_for("mnist").request is not None  # a file of the same name comes first


# What it refuses


@pytest.mark.parametrize(
    ("scale", "name", "told"),
    [
        ("demo", "gaussian_1d", "it has no target, and methods are compared in classification and regression"),
        ("laptop", "cep", "its rows are texts instead of features"),
        ("laptop", "kuka1", "the catalogue does not give its number of rows"),
        ("paper", "timit", "does not allow to pass it on: supply .* in data/raw/timit"),
        ("demo", "mnits", r"There is no such file\. Did you mean mnist\?"),
        ("demo", "nothing_like_it", "The dataset nothing_like_it cannot be read"),
    ],
)
def test_a_dataset_without_a_leaderboard_is_refused_in_a_sentence(scale, name, told):
    with pytest.raises(ShallowsError, match=told):
        ask_for(name, scale)


def test_too_few_rows_and_settings_of_a_file_are_refused():
    few = SimpleNamespace(task="regression", format="csv", n_train=30)
    assert dataset_leaderboard._without(few) == "it has 30 training rows, and at least 50 are needed"
    with pytest.raises(ShallowsError, match="target is for a file of your own"):
        ask_for("mnist", target="y")


def test_it_says_which_rows_and_scales_it_has():
    info = {"n_train": 5000, "n_test": 10000, "n_features": 784, "steps": [{"unit": {}}]}
    told = leaderboard.describe(datasets.get("mnist"), info, "laptop")["told"]
    assert "5,000 of the 60,000 training rows and 10,000 test rows of its test part, 784 features scaled to" in told
    info |= {"steps": [{"scale_columns": {}}], "n_test": 1000}
    told = leaderboard.describe(datasets.get("covtype"), info, "laptop")["told"]
    assert "5,000 training rows and 1,000 test rows drawn from all rows, since it has no test part" in told


# What it says


def test_the_size_of_a_model_is_that_of_what_it_holds():
    from sklearn.neighbors import KNeighborsClassifier

    x, y = np.random.default_rng(0).normal(size=(500, 40)), np.arange(500) % 2
    found = model_bytes(KNeighborsClassifier(algorithm="brute").fit(x, y))
    assert x.nbytes < found < x.nbytes + y.nbytes + 5000


def test_the_report_links_to_the_pages_that_have_been_made(tmp_path):
    results = tmp_path / "results"
    given = replace(CONFIGURATION, settings=CONFIGURATION.settings | {"results": str(results)})
    assert dataset_leaderboard.pages(given, "laptop") == {}
    made = results / "laptop" / "leaderboard" / "usps.html"
    made.parent.mkdir(parents=True)
    made.write_text("a page")
    pages = dataset_leaderboard.pages(given, "laptop")
    assert pages == {"USPS": str(made)} and dataset_leaderboard.pages(given, "demo") == {}
    page.write([], results / "laptop/report/index.html", leaderboards=pages)
    text = (results / "laptop/report/index.html").read_text()
    assert '<a href="../leaderboard/usps.html">USPS</a>' in text
    assert len({one.title for one in PLAN.catalogue.values()}) == len(PLAN.catalogue)


# From end to end

#: Two quick methods, and one that is not for classification.
FEW = ("linear_ridge", "random_features_ridge", "kernel_ridge")


@pytest.mark.workflow
def test_a_leaderboard_is_made_by_one_command(tmp_path):
    root = copy_project(tmp_path, "eigenpro/targets")
    path = root / "config" / "methods.yaml"
    content = yaml.safe_load(path.read_text())
    for name, method in content["methods"].items():
        if name not in FEW:
            method.pop("compare", None)
    content["leaderboard"]["sizes"]["demo"] = {"n_train": 300, "n_test": 200}
    path.write_text(yaml.safe_dump(content))
    done = snakemake(root, "--cores", "2", "compare", "--config", "dataset=mnist", timeout=900)
    assert done.returncode == 0, done.stdout

    folder = root / "results" / "demo" / "leaderboard" / "mnist_demo"
    with open(folder / "tables" / "comparison.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    errors = [float(row["measured_mean"]) for row in rows if row["metric"] == "test_error"]
    assert len(errors) == 2 and errors == sorted(errors) and errors[0] < 25
    for metric in ("fit_seconds", "predict_seconds", "model_kilobytes", "interval"):
        found = [float(row["measured_mean"]) for row in rows if row["metric"] == metric]
        assert len(found) == 2 and all(value > 0 for value in found), metric
    assert {(row["n_train"], row["n_test"]) for row in rows} == {("300", "200")}
    records = [json.loads(one.read_text()) for one in folder.glob("runs/*/*/record.json")]
    assert {one["run"]["scale"] for one in records} == {"demo"}
    # Of the 300 training rows a fifth, and none of the test rows.
    assert {(one["selection"]["n_train"], one["selection"]["n_validation"]) for one in records} == {(240, 60)}
    text = (root / "results" / "demo" / "leaderboard" / "mnist_demo.html").read_text()
    assert "<h1>Leaderboard: MNIST" in text and "Take " in text and text.count("<img src=") == 3
