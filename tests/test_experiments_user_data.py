"""The comparison on a user's own data in one process: what it asks a batch system for, how parameters are chosen."""

import csv
import json

import numpy as np
import pytest

from houses_example import write_houses
from own_plan import own_configuration
from shallows_papers import datasets
from shallows_papers.datasets.user_data import describe, request
from shallows_papers.experiments.running.job import Conditions
from shallows_papers.experiments.user_data import comparison, leaderboard, model_selection

CONDITIONS = Conditions("cpu", None, 60.0)
METHODS = own_configuration().methods
DIVISION = {"test": 0.2, "validation": 0.25, "rows": 5000}


# What it asks a batch system for


def record(path, n_train, n_test=100, d=10):
    arrays = {"y_train": {"shape": [n_train]}}
    info = {"n_train": n_train, "n_test": n_test, "n_features": d, "classes": ["no", "yes"], "arrays": arrays}
    path.mkdir()
    (path / "prepared.json").write_text(json.dumps(info))
    return path


@pytest.mark.parametrize("name", ["eigenpro", "svm", "linear_ridge", "constant"])
def test_the_cost_of_every_method_grows_with_the_rows(tmp_path, name):
    choose = record(tmp_path / "choose", 500)
    small, large = (comparison.cost(METHODS[name], choose, record(tmp_path / f"{n}", n)) for n in (1_000, 20_000))
    assert 0 < small.seconds < large.seconds
    assert 0 < small.memory_bytes < large.memory_bytes


# Choosing


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Two preparations of one table."""
    root = tmp_path_factory.mktemp("prepared")
    asked = request.make("houses", {"file": str(write_houses(root / "houses.csv", 400))}, "a test")
    describe.write(asked, root / "verified.json")
    for purpose in comparison.PURPOSES:
        comparison.prepare(root / "verified.json", root / purpose, DIVISION, None)
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


def test_a_choice_or_a_method_that_fails_is_reported_and_leaves_the_others(prepared, tmp_path):
    _, kept = run(prepared, tmp_path, asked_of("linear_ridge", choose={"alpha": [-1.0, 1.0]}))
    assert kept["run"]["parameters"]["alpha"] == 1.0
    assert "alpha" in kept["selection"]["trials"][0]["problem"]
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
    leaderboard.write(outcomes, prepared / "verified.json", "", "own", tmp_path / "tables")
    with open(tmp_path / "tables" / "comparison.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[-1]["verdict"] == "not run" and "up to 10 training rows" in rows[-1]["reason"]
    assert {row["verdict"] for row in rows[:-1]} == {"measured"}


def test_the_median_distance_is_that_of_the_rows_and_one_where_they_coincide():
    x = np.random.default_rng(0).normal(size=(200, 4))
    from scipy.spatial.distance import pdist

    assert model_selection.median_distance(x, 0) == pytest.approx(np.median(pdist(x)))
    assert model_selection.median_distance(np.ones((30, 2)), 0) == 1.0
