"""The comparison on a user's own data: by the command line from end to end, and its parts in one process."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from shallows import datasets
from shallows.datasets.user_data import describe, request
from shallows.errors import ShallowsError
from shallows.experiments.planning import configuration
from shallows.experiments.planning.configuration import ConfigurationError
from shallows.experiments.running import record
from shallows.experiments.running.job import Conditions
from shallows.experiments.user_data import comparison as own
from shallows.experiments.user_data import leaderboard, model_selection
from workflow_runs import PROJECT, copy_project, snakemake

CONDITIONS = Conditions("cpu", None, 60.0)
METHODS = configuration.load(PROJECT).methods
DIVISION = {"test": 0.2, "validation": 0.25, "rows": 5000}


def write_houses(path, n=160, spoilt=None):
    """A table with a category and a target that a straight line does not explain."""
    rng = np.random.default_rng(0)
    area, age, kind = rng.uniform(20, 200, n).round(1), rng.integers(0, 90, n), rng.integers(0, 3, n)
    price = (np.sin(area / 25) * 40 + 0.2 * age + 30 * kind + rng.normal(0, 3, n)).round(2)
    lines = [f"{a},{b},{'abc'[k]},{p}" for a, b, k, p in zip(area, age, kind, price, strict=True)]
    if spoilt:
        lines[9] = spoilt
    path.write_text("area,age,kind,price\n" + "\n".join(lines) + "\n")
    return path


# From end to end


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    root = copy_project(tmp_path_factory.mktemp("compared"))
    path = root / "config" / "methods.yaml"
    # The choices are thinned, so that the test is about the way and not about the numbers.
    text = re.sub(r"\[1, 2, 5, 10, 20(, 40)?\]", "[1, 10]", path.read_text())
    text = text.replace("[0.25, 0.5, 1.0, 2.0, 4.0]", "[0.5, 1.0]").replace("[gaussian, laplace]", "[laplace]")
    path.write_text(text.replace("[1.0, 10.0, 100.0]", "[10.0, 100.0]"))
    write_houses(root / "houses.csv")
    done = snakemake(root, "--cores", "2", "compare", "--config", "dataset=houses.csv")
    assert done.returncode == 0, done.stdout
    return root, done.stdout


pytestmark = pytest.mark.workflow


def test_it_says_what_it_guessed_and_where_the_report_is(compared):
    root, said = compared
    assert "houses.csv was read as a table: 160 rows of 3 features, regression." in said
    assert "the target is the column price (the last)" in said
    page = root / "results" / "own" / "houses" / "report" / "index.html"
    assert f"The report: {page}" in said
    text = page.read_text()
    assert "Comparison on your own data" in text and "one-hot coded: kind (3)" in text


def test_every_suitable_method_stands_in_the_table_the_best_first(compared):
    root, _ = compared
    with open(root / "results" / "own" / "houses" / "tables" / "comparison.csv", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["metric"] == "test_r2"]
    suited = [one["label"] for one in METHODS.values() if "compare" in one and "regression" in one["call"]]
    assert {row["method"] for row in rows} == set(suited)
    found = [float(row["measured_mean"]) for row in rows]
    assert found == sorted(found, reverse=True)
    values = {row["method"]: value for row, value in zip(rows, found, strict=True)}
    assert values[METHODS["eigenpro"]["label"]] > values[METHODS["linear_ridge"]["label"]] + 0.1
    assert abs(values[METHODS["constant"]["label"]]) < 0.1


def test_every_run_left_a_record_with_its_choice(compared):
    root, _ = compared
    paths = sorted((root / "results" / "own" / "houses" / "runs").rglob("record.json"))
    assert len(paths) == sum("compare" in one and "regression" in one["call"] for one in METHODS.values())
    for path in paths:
        kept = json.loads(path.read_text())
        record.check(kept)
        chosen = min(kept["selection"]["trials"], key=lambda trial: trial["score"])
        parameters = {**chosen["parameters"], **({"epochs": chosen["epochs"]} if "epochs" in chosen else {})}
        assert parameters.items() <= kept["run"]["parameters"].items()
        assert (kept["data"]["n_train"], kept["data"]["n_test"]) == (128, 32)


def test_asked_again_it_does_nothing_and_still_says_where_the_report_is(compared):
    root, _ = compared
    again = snakemake(root, "--cores", "1", "compare", "--config", "dataset=houses.csv")
    assert "Nothing to be done" in again.stdout
    assert str(root / "results" / "own" / "houses" / "report" / "index.html") in again.stdout


def test_another_target_makes_it_anew(compared):
    root, _ = compared
    done = snakemake(root, "-n", "--cores", "1", "compare", "--config", "dataset=houses.csv", "target=kind")
    assert "describe_data" in done.stdout and "report_comparison" in done.stdout


# What goes wrong, in one clear sentence


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = copy_project(tmp_path_factory.mktemp("project"))
    write_houses(root / "houses.csv")
    write_houses(root / "ragged.csv", spoilt="1,2,a")
    return root


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ([], "The target compare needs data of yours: snakemake --cores 4 compare --config dataset=my.csv"),
        (["dataset=huoses.csv"], "There is no such file. Did you mean houses.csv?"),
        (["dataset=houses.csv", "task=regresion"], "Did you mean 'regression'?"),
        (["dataset=houses.csv", "missing=meen"], "Did you mean 'mean'?"),
        (["dataset=houses.csv", "test_file=nothing.csv"], "The dataset nothing.csv cannot be read"),
        (["target=price"], "target is set, and no dataset"),
    ],
)
def test_a_wrong_word_gets_one_clear_sentence(project, settings, told):
    done = snakemake(project, "-n", "--cores", "1", "compare", *(["--config", *settings] if settings else []))
    assert done.returncode != 0
    assert told in done.stdout
    assert "Traceback" not in done.stdout and done.stdout.count("Error") == 1


def test_a_ragged_file_ends_with_its_line_and_without_a_traceback(project):
    done = snakemake(project, "--cores", "1", "compare", "--config", "dataset=ragged.csv")
    assert done.returncode != 0
    assert "Error: Line 11 of ragged.csv has 3 fields, where the first line has 4." in done.stdout
    assert "Traceback" not in done.stdout


def test_a_comparison_without_data_is_refused_in_the_plan():
    from shallows.experiments.planning import requests
    from shallows.experiments.planning.plan import Plan

    with pytest.raises(ConfigurationError, match=r"dataset=my\.csv"):
        requests.check(["compare"], Plan.load(PROJECT), ["compare"])


# Choosing


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Two preparations of one table."""
    root = tmp_path_factory.mktemp("prepared")
    asked = request.make("houses", {"file": str(write_houses(root / "houses.csv", 400))}, "a test")
    describe.write(asked, root / "verified.json")
    for purpose in own.PURPOSES:
        own.prepare(root / "verified.json", root / purpose, DIVISION, None)
    return root


def asked_of(method, **changes):
    definition = METHODS[method]
    rules = {**definition["compare"], **changes}
    return {"dataset": "own-houses", "method": method, "seed": 0, "definition": {**definition, "compare": rules}}


def run(prepared, tmp_path, asked):
    outcome = model_selection.compare(asked, prepared / "choose", prepared / "test", tmp_path, CONDITIONS)
    return outcome, json.loads((tmp_path / "record.json").read_text()) if "record" in outcome else None


def test_the_choice_is_the_best_of_all_on_the_validation_part(prepared, tmp_path):
    """Against scikit-learn, fitted by hand with every combination."""
    from sklearn.svm import SVR

    rules = {"bandwidth": {"parameter": "gamma", "values": [0.5, 2.0]}, "choose": {"C": [1.0, 100.0]}}
    _, kept = run(prepared, tmp_path, asked_of("svm", **rules))
    data = datasets.load(prepared / "choose")
    median = model_selection.median_distance(data.x_train, 0)
    scores = {
        (c, 1 / (2 * (factor * median) ** 2)): SVR(C=c, gamma=1 / (2 * (factor * median) ** 2))
        .fit(data.x_train, data.y_train)
        .score(data.x_test, data.y_test)
        for c in (1.0, 100.0)
        for factor in (0.5, 2.0)
    }
    best = max(scores, key=scores.get)
    assert (kept["run"]["parameters"]["C"], kept["run"]["parameters"]["gamma"]) == pytest.approx(best)
    assert kept["metrics"]["final"]["validation_r2"] == pytest.approx(scores[best], abs=1e-6)
    test = datasets.load(prepared / "test")
    peer = SVR(C=best[0], gamma=best[1]).fit(test.x_train, test.y_train)
    assert kept["metrics"]["final"]["test_r2"] == pytest.approx(peer.score(test.x_test, test.y_test), abs=1e-6)
    scale = next(one["center_target"]["scale"] for one in test.info["statistics"] if "center_target" in one)
    error = np.sqrt(np.mean((peer.predict(test.x_test) - test.y_test) ** 2)) * scale
    assert kept["metrics"]["final"]["test_rmse"] == pytest.approx(error, rel=1e-6)


def test_the_number_of_epochs_is_chosen_too(prepared, tmp_path):
    _, kept = run(prepared, tmp_path, asked_of("eigenpro", choose={}, epochs=[1, 3, 6]))
    tried = {trial["epochs"] for trial in kept["selection"]["trials"]}
    best = min(kept["selection"]["trials"], key=lambda trial: trial["score"])
    assert tried == {1, 3, 6}
    assert kept["run"]["marks"] == [best["epochs"]]


def test_the_choice_does_not_depend_on_the_test_rows(prepared, tmp_path, monkeypatch):
    _, before = run(prepared, tmp_path / "before", asked_of("linear_ridge"))
    genuine = datasets.load

    def other(folder):
        data = genuine(folder)
        if folder.name == "test":
            object.__setattr__(data, "y_test", -5 * np.asarray(data.y_test)[::-1])
        return data

    monkeypatch.setattr(datasets, "load", other)
    _, after = run(prepared, tmp_path / "after", asked_of("linear_ridge"))
    chosen = [one["selection"]["chosen"] for one in (before, after)]
    assert chosen[0] == chosen[1]
    assert before["metrics"]["final"]["validation_r2"] == after["metrics"]["final"]["validation_r2"]
    assert before["metrics"]["final"]["test_r2"] != after["metrics"]["final"]["test_r2"]


def test_one_choice_that_cannot_be_fitted_leaves_the_others(prepared, tmp_path):
    _, kept = run(prepared, tmp_path, asked_of("linear_ridge", choose={"alpha": [-1.0, 1.0]}))
    assert kept["run"]["parameters"]["alpha"] == 1.0
    assert "alpha" in kept["selection"]["trials"][0]["problem"]


def test_a_method_that_fails_is_told_and_does_not_end_the_comparison(prepared, tmp_path):
    outcome, kept = run(prepared, tmp_path, asked_of("linear_ridge", choose={"alpha": [-1.0]}))
    assert kept is None and outcome["reason"].startswith("it failed:") and "alpha" in outcome["reason"]


@pytest.mark.parametrize(
    ("task", "n_train", "shape", "told"),
    [
        ("classification", 100, [100], None),
        ("regression", 100, [100, 3], "1 target at a time, and there are 3"),
        ("classification", 10**6, [10**6], "up to 20,000 training rows, and there are 1,000,000: its time grows"),
        ("ranking", 100, [100], "it is not for ranking"),
    ],
)
def test_a_method_says_why_it_is_not_run(task, n_train, shape, told):
    info = {"task": task, "n_train": n_train, "arrays": {"y_train": {"shape": shape}}}
    found = model_selection.unsuitable(METHODS["svm"], info)
    assert found is None if told is None else told in found


def test_a_method_that_was_not_run_stands_in_the_table_with_its_reason(prepared, tmp_path):
    folders = []
    for method, rules in (("linear_ridge", {}), ("nearest_neighbour", {"most_rows": 10})):
        folders.append(tmp_path / method)
        model_selection.compare(
            asked_of(method, **rules), prepared / "choose", prepared / "test", folders[-1], CONDITIONS
        )
    outcomes = [folder / "outcome.json" for folder in folders]
    leaderboard.write(outcomes, prepared / "verified.json", tmp_path / "t.csv", tmp_path / "t.json")
    with open(tmp_path / "t.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[-1]["verdict"] == "not run" and "up to 10 training rows" in rows[-1]["reason"]
    assert {row["verdict"] for row in rows[:-1]} == {"measured"}


def test_the_median_distance_is_that_of_the_rows_and_one_where_they_coincide():
    x = np.random.default_rng(0).normal(size=(200, 4))
    from scipy.spatial.distance import pdist

    assert model_selection.median_distance(x, 0) == pytest.approx(np.median(pdist(x)))
    assert model_selection.median_distance(np.ones((30, 2)), 0) == 1.0


def test_methods_of_the_comparison_are_checked_with_the_rest_of_the_configuration(tmp_path):
    root = copy_project(tmp_path)
    path = root / "config" / "methods.yaml"
    path.write_text(path.read_text().replace("most_targets: 1", "most_target: 1"))
    with pytest.raises(ShallowsError, match="Did you mean 'most_targets'"):
        configuration.load(root)
