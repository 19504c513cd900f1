"""The comparison on a user's own data by the command line, from end to end; its parts have their own file."""

import csv
import json
import re
import statistics
import subprocess
import sys

import pytest

from houses_example import write_houses
from own_plan import own_configuration
from shallows_papers.experiments.running import record
from workflow_runs import copy_project, environment, snakemake

pytestmark = pytest.mark.workflow
METHODS = own_configuration().methods


# From end to end


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    root = copy_project(tmp_path_factory.mktemp("compared"), "eigenpro/targets")
    path = root / "config" / "methods.yaml"
    # The choices are thinned, so that the test is about the way and not about the numbers.
    text = re.sub(r"\[1, 2, 5, 10, 20(, 40)?\]", "[1, 10]", path.read_text())
    text = text.replace("seeds: [0, 1, 2, 3, 4]", "seeds: [0]")
    text = re.sub(r"\[(0.25, )?0.5, 1.0, 2.0(, 4.0)?\]", "[0.5, 1.0]", text)
    text = text.replace("[gaussian, laplace]", "[laplace]")
    path.write_text(text.replace("[1.0, 10.0, 100.0]", "[10.0, 100.0]"))
    write_houses(root / "houses.csv")
    done = snakemake(root, "--cores", "2", "compare", "--config", "dataset=houses.csv", timeout=900)
    assert done.returncode == 0, done.stdout
    return root, done.stdout


def test_it_says_what_it_guessed_and_where_the_report_is(compared):
    root, said = compared
    assert "houses.csv was read as a table: 160 rows of 3 features, regression." in said
    assert "the target is the column price (the last)" in said
    page = root / "results" / "own" / "houses-525cbc05" / "report" / "index.html"
    assert f"The report: {page}" in said
    assert said.index(f"The comparison's report: {page}") > said.index("was fitted to all 160 rows")
    text = page.read_text()
    assert "Comparison on your own data" in text and "one-hot coded: kind (3)" in text


def test_every_suitable_method_stands_in_the_table_the_best_first(compared):
    root, _ = compared
    with open(root / "results" / "own" / "houses-525cbc05" / "tables" / "comparison.csv", newline="") as stream:
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
    paths = sorted((root / "results" / "own" / "houses-525cbc05" / "runs").rglob("record.json"))
    assert len(paths) == sum("compare" in one and "regression" in one["call"] for one in METHODS.values())
    for path in paths:
        kept = json.loads(path.read_text())
        record.check(kept)
        chosen = min(kept["selection"]["trials"], key=lambda trial: trial["score"])
        parameters = {**chosen["parameters"], **({"epochs": chosen["epochs"]} if "epochs" in chosen else {})}
        assert parameters.items() <= kept["run"]["parameters"].items()
        assert (kept["data"]["n_train"], kept["data"]["n_test"]) == (128, 32)


def test_the_page_says_which_method_to_take_with_three_pictures_and_no_seconds_are_nothing(compared):
    root, _ = compared
    folder = root / "results" / "own" / "houses-525cbc05"
    text = (folder / "report" / "index.html").read_text()
    with open(folder / "tables" / "comparison.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    (sentence,) = re.findall(r'<p class="lead">(Take [^<]*)</p>', text)
    taken = sentence.removeprefix("Take ").partition(":")[0]
    assert taken in {row["method"] for row in rows}
    assert text.count("<img src=") == 3
    assert "nothing says how much of a gain is chance" in text and "the search gains" in text
    assert all(float(row["measured_mean"]) > 0 for row in rows if row["metric"].endswith("_seconds"))
    assert {row["seeds"] for row in rows} == {"0"}


def test_the_saved_model_predicts_new_rows(compared):
    root, said = compared
    assert (
        "was fitted to all 160 rows and saved. To predict new rows: shallows predict results/own/houses-525cbc05/model"
        in said
    )
    with open(root / "houses.csv", newline="") as stream:
        houses = list(csv.DictReader(stream))
    done = predict(root, "houses.csv")
    assert done.returncode == 0, done.stderr
    with open(root / "houses.predictions.csv", newline="") as stream:
        found = [float(row["predicted price"]) for row in csv.DictReader(stream)]
    prices = [float(one["price"]) for one in houses]
    assert len(found) == len(prices) and statistics.correlation(found, prices) > 0.9
    (root / "less.csv").write_text("area,kind\n100,a\n")
    refused = predict(root, "less.csv")
    assert refused.returncode == 2
    assert refused.stderr.startswith("shallows: less.csv lacks the column age, which the model needs")


def predict(root, rows):
    command = [sys.executable, "-m", "shallows_papers.cli", "predict", "results/own/houses-525cbc05/model", rows]
    return subprocess.run(command, cwd=root, env=environment(root), capture_output=True, text=True)


def test_asked_again_it_does_nothing_and_still_says_where_the_report_is(compared):
    root, _ = compared
    again = snakemake(root, "--cores", "1", "compare", "--config", "dataset=houses.csv")
    assert "Nothing to be done" in again.stdout
    assert str(root / "results" / "own" / "houses-525cbc05" / "report" / "index.html") in again.stdout


def test_another_target_makes_it_anew(compared):
    root, _ = compared
    done = snakemake(root, "-n", "--cores", "1", "compare", "--config", "dataset=houses.csv", "target=kind")
    assert "describe_data" in done.stdout and "report_comparison" in done.stdout


# What goes wrong, in one clear sentence


def test_a_wrong_word_gets_one_clear_sentence(compared):
    done = snakemake(compared[0], "-n", "--cores", "1", "compare", "--config", "dataset=huoses.csv")
    assert done.returncode != 0
    assert "There is no such file. Did you mean houses.csv?" in done.stdout
    assert "Traceback" not in done.stdout and done.stdout.count("Error") == 1


def test_a_ragged_file_ends_with_its_line_and_without_a_traceback(compared):
    root, _ = compared
    write_houses(root / "ragged.csv", spoilt="1,2,a")
    done = snakemake(root, "--cores", "1", "compare", "--config", "dataset=ragged.csv")
    assert done.returncode != 0
    assert "Error: Line 11 of ragged.csv has 3 fields, but the first line has 4." in done.stdout
    assert "Traceback" not in done.stdout and "report: " not in done.stdout
