"""Which method to take on a user's data: intervals over divisions and rows, the choice, its sentence, the tables."""

import itertools
import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shallows_papers.experiments.comparing.table_rows import COLUMNS, Row
from shallows_papers.experiments.user_data import leaderboard, method_results, recommendation
from shallows_papers.experiments.user_data.method_results import MethodResult, Results, over_splits
from shallows_papers.report import figures, own_data
from shallows_papers.report.target import Target, read

N_TRAIN, N_TEST = 800, 200


def entry(task="classification", n_test=0):
    options = {"layout": {"names": ["a", "cost"], "named": True}, "features": [], "targets": [1]}
    found = {"task": task, "n_test": n_test, "n_targets": 1, "options": options, "title": "my.csv", "citation": ""}
    return {"entry": found, "dataset": "own-my", "told": "my.csv was read as a table."}


BEST, OTHER = ("best", [5.0, 5.4, 4.6]), ("other", [5.1, 5.0, 5.2])


def method(name, errors, cost=1.0, task="classification", defaults=None, trials=(), folders=(), seconds=None):
    """A method with a test error (or R²) for each division; a cost of 1 are 10 MB, and a second by default."""
    seconds = cost if seconds is None else seconds
    which = "error" if task == "classification" else "r2"
    records = []
    for seed, value in enumerate(errors):
        final = {f"test_{which}": value, f"validation_{which}": value, "fit_seconds": seconds, "predict_seconds": 1e-6}
        final |= {"choice_seconds": 10 * seconds, "model_kilobytes": 10_000 * cost}
        if defaults:
            final |= {f"default_{which}": defaults[seed], "default_seconds": seconds}
        records.append(
            {
                "run": {"seed": seed, "dataset": "own-my", "variant": "test"},
                "data": {"title": "my.csv", "n_train": N_TRAIN, "n_test": N_TEST, "n_features": 2},
                "metrics": {"final": final},
                "selection": {
                    "chosen": "C 1",
                    "n_train": 640,
                    "n_validation": 160,
                    "score": "errors",
                    "trials": list(trials) or [{"words": "C 1", "score": value}],
                },
                "hardware": {"cpu": "a CPU", "cores": 2, "memory_bytes": 2**34, "gpu": None},
                "effective": {},
                "code": {"version": "0", "commit": None, "dirty": None},
                "packages": {},
            }
        )
    return MethodResult(name, name.replace("_", " "), task, folders=tuple(folders), records=tuple(records))


def results(*methods, task="classification", n_test=0):
    ordered = sorted(methods, key=lambda one: np.mean(one.scores) if one.records else math.inf)
    return Results(tuple(ordered), entry(task, n_test))


# Intervals


def test_the_interval_over_splits_is_that_of_the_corrected_t_test():
    """By hand: 1, 2, 3 have the variance 1, and Student's quantile with 2 degrees of freedom is 4.302653."""
    found = over_splits([1.0, 2.0, 3.0], 80, 20)
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(4.302653 * math.sqrt(1 / 3 + 20 / 80), rel=1e-6)
    assert over_splits([1.0], 80, 20).half_width == math.inf


# The choice


def test_the_smallest_model_of_those_that_cannot_be_told_from_the_best_is_taken():
    best = method("slow_best", [5.0, 5.2, 4.8, 5.1, 4.9], 9.0)
    as_good = method("quick", [5.4, 4.9, 5.1, 4.8, 5.3], 0.1)
    worse = method("quickest", [9.0, 9.2, 8.8, 9.1, 8.9], 0.01)
    found = recommendation.recommend(results(best, as_good, worse))
    assert (found.chosen.method, found.best.method) == ("quick", "slow_best")
    assert [one.method for one in found.equals] == ["slow_best", "quick"]


def test_equal_errors_are_decided_by_sizes_and_then_by_the_name(tmp_path, monkeypatch):
    found = {
        name: method(name, [5.0, 5.2, 4.9], cost) for name, cost in (("b", 0.1), ("a", 0.1), ("c", 0.05), ("d", 9.0))
    }
    monkeypatch.setattr(method_results, "_method", lambda group, task: found[group[0]["method"]])
    for order in itertools.permutations(found):
        paths = [tmp_path / f"{name}.json" for name in order]
        for name, path in zip(order, paths, strict=True):
            path.write_text(json.dumps({"method": name, "has_part": True}))
        ordered = method_results.read(paths, entry())
        assert [one.method for one in ordered.done] == ["c", "a", "b", "d"]
        assert recommendation.recommend(ordered).chosen.method == "c"


def test_differences_are_taken_on_the_same_rows():
    """Both vary by points from division to division, and one is worse by one point in each of them."""
    level = np.array([1.0, 9.0, 4.0, 7.0, 2.0])
    best, worse = method("best", list(level), 9.0), method("worse", list(level + 1 + 0.01 * level), 0.1)
    assert recommendation.recommend(results(best, worse)).chosen.method == "best"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            (*BEST, 9.0),
            (*OTHER, 0.25),
            [
                "Take other: 5.1 % errors over 3 divisions is within one standard error of the",
                "lowest test error, 5 % errors by best (difference 0.1 points, standard error 0.3",
                "36 times smaller. It fits and predicts in 0.25 s, and best in 9 s",
            ],
        ),
        (
            (*BEST, 0.09),
            (*OTHER, 0.001),
            ["Take best", "none of those within one standard error of it (other) has a far smaller model"],
        ),
        ((*BEST, 0.15), (*OTHER, 0.1), ["Take best"]),
        (
            ("best", [1.0, 1.1, 0.9]),
            ("other", [9.0, 9.1, 8.9]),
            [
                "Take best: it has the lowest test error of all, 1 % errors over 3 divisions",
                "no other method is within one standard error of it",
            ],
        ),
        (
            ("svm", [49.0, 51.0, 49.0], 2.0),
            ("constant", [50.0, 50.5, 50.0], 0.001),
            ["even the best method is not clearly better than predicting the same answer for every row"],
        ),
    ],
    ids=["a smaller one", "a small best", "hardly smaller ones", "only one is good", "nothing is learned"],
)
def test_the_sentence_names_the_method_with_what_was_measured(first, second, words):
    data = results(method(*first), method(*second))
    text = recommendation.sentence(data, recommendation.recommend(data))
    assert all(one in text for one in words), text


# Tables and pictures


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The tables of invented results, and the pictures."""

    def write(data):
        monkeypatch.setattr(leaderboard, "read", lambda outcomes, description: data)
        stamp = tmp_path / "verified.json"
        stamp.write_text(json.dumps(data.description))
        leaderboard.write([], stamp, "", "own", tmp_path / "tables")
        tables = [read(path) for path in (tmp_path / "tables").glob("*.csv")]
        return {table.meta["id"]: ([row.as_text() for row in table.rows], table.meta) for table in tables}

    return write


def trials_of(factors):
    return [{"words": f"bandwidth {factor}", "factor": factor, "score": abs(factor - 1) + 1} for factor in factors]


def predictions(folder, true, predicted, classes):
    folder.mkdir()
    np.savez(folder / "predictions.npz", true=true, predicted=predicted, classes=np.array(classes, dtype=str))
    return [folder]


def test_every_table_and_picture_is_made_of_a_classification(tmp_path, written):
    folders = predictions(tmp_path / "one", [0, 0, 1, 1, 1], [0, 1, 1, 1, 0], ["cat", "dog"])
    trials = trials_of([0.5, 1.0, 2.0])
    one = method("svm", [5.0, 6.0, 5.5], 0.5, defaults=[9.0, 10.1, 9.5], trials=trials, folders=folders)
    tables = written(results(one, method("constant", [50.0, 51.0, 50.5], 0.001)))
    counts = {row["setting"]: float(row["measured_mean"]) for row in tables["predictions"][0]}
    assert counts == {
        "true=cat; predicted=cat": 1,
        "true=cat; predicted=dog": 1,
        "true=dog; predicted=cat": 1,
        "true=dog; predicted=dog": 2,
    }
    curve = {row["setting"]: float(row["measured_mean"]) for row in tables["bandwidths"][0]}
    assert curve == {"bandwidth=0.5": 1.5, "bandwidth=1": 1.0, "bandwidth=2": 2.0}
    gains = [float(row["measured_mean"]) for row in tables["comparison"][0] if row["metric"] == "gain"]
    assert gains == [pytest.approx(12.1 / 3)]
    assert "The search is better for svm" in tables["comparison"][1]["notes"][-1]
    assert tables["comparison"][1]["lead"].startswith("Take svm")
    for name in ("comparison", "predictions", "bandwidths"):
        draw(tmp_path, name)


def draw(tmp_path, name):
    out = tmp_path / f"{name}.svg"
    figures.draw(tmp_path / "tables" / f"{name}.csv", out, own_data.KINDS)
    assert "<text" in out.read_text(encoding="utf-8")
    return out


def test_the_picture_has_the_methods_in_the_order_of_their_errors():
    errors = {"first": 20.0, "second": 70.0, "third": 30.0}
    costs = {"fit_seconds": 2.0, "predict_seconds": 0.0, "model_kilobytes": 5.0}
    rows = [
        Row.from_text(
            {**dict.fromkeys(COLUMNS, ""), "target": "made_up", "dataset": "toy", "verdict": "not comparable"}
            | {"scale": "own", "method": name, "metric": metric, "measured_mean": str(value)}
        )
        for name, error in errors.items()
        for metric, value in {"test_error": error, **costs}.items()
    ]
    axes = own_data.error_against_costs(Target(tuple(rows), {"id": "made_up", "figure": {"recommended": "third"}})).axes
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["first", "third", "second"]
    dots = [ax.collections[-1] for ax in axes]
    assert len(dots) == 4 and list(dots[0].get_offsets()[:, 0]) == [20, 30, 70]
    assert list(dots[3].get_offsets()[:, 0]) == [5000] * 3
    colors = [tuple(color) for color in dots[0].get_facecolors()]
    assert colors[0] == colors[2] != colors[1]


def test_predicted_numbers_are_drawn_over_the_true_ones_with_their_error(tmp_path, written):
    true = np.arange(40.0)
    folders = predictions(tmp_path / "one", true, true + 2, [])
    one = method("svm", [0.9, 0.8], task="regression", folders=folders)
    rows, meta = written(results(one, task="regression"))["predictions"]
    assert [(row["setting"], float(row["measured_mean"])) for row in rows] == [("output=cost", 2.0)]
    assert Path(meta["figure"]["points"]).is_file()
    draw(tmp_path, "predictions")


def test_what_cannot_be_drawn_is_said_in_its_place(tmp_path, written):
    data = Results((MethodResult("svm", "SVM", "classification", reason="it failed: no memory"),), entry())
    tables = written(data)
    assert tables["comparison"][0][0]["reason"] == "it failed: no memory"
    assert tables["comparison"][1]["lead"].startswith("No method could be run on these data")
    for name, words in (("comparison", "no method could be run"), ("predictions", "no method could be run")):
        target = read(tmp_path / f"tables/{name}.csv")
        figure = own_data.KINDS[target.meta["figure"]["kind"]](target)
        assert words in " ".join(text.get_text().replace("\n", " ") for text in figure.axes[0].texts)
        draw(tmp_path, name)
    draw(tmp_path, "bandwidths")


def test_warnings_of_fits_are_one_line_for_each_method(tmp_path, written):
    counts = {}
    with method_results.collect_warnings(counts):
        for text in (
            "loss 4",
            "no end after 3 epochs",
            "loss 2.2e+02",
            "no end after 10 epochs",
            "no end after 1 epochs",
        ):
            warnings.warn(text, stacklevel=1)
    assert counts == {"loss 4": 2, "no end after 3 epochs": 3}
    folders = predictions(tmp_path / "one", [0, 1], [0, 1], ["cat", "dog"])
    one = replace(
        method("svm", [5.0, 6.0, 5.5], folders=folders), warnings=method_results.of_outcomes([{"warnings": counts}, {}])
    )
    notes = written(results(one))["comparison"][1]["notes"]
    assert [note for note in notes if "warned" in note] == ["svm warned 5 times, most often: no end after 3 epochs"]
