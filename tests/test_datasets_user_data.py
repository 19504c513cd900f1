"""A user's file: what is guessed, what is reported, and which rows come out."""

import json
import subprocess
import sys

import numpy as np
import pytest

from shallows_papers import datasets
from shallows_papers.datasets.preparation.row_draws import draw_rows
from shallows_papers.datasets.user_data import describe, request
from shallows_papers.datasets.user_data.fitted_preparation import fit_preparation
from shallows_papers.experiments.user_data import comparison
from user_data_example import csv_text, described, rows, source, table, write, write_rows

DIVISION = {"test": 0.2, "validation": 0.2, "rows": 5000}


# What is read: every form gives the same rows


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 3)).round(3), rng.integers(0, 3, size=50)


@pytest.mark.parametrize(
    "form", ["csv", "csv.gz", "tsv", "txt", "dat", "arff", "parquet", "npy", "npz", "mat", "libsvm", "bz2"]
)
def test_every_form_of_file_gives_the_same_rows(tmp_path, numbers, form):
    opened, description = source(write_rows(tmp_path / f"data.{form}", *numbers))
    x, y = rows(opened.train)
    np.testing.assert_allclose(x, numbers[0])
    np.testing.assert_array_equal(y.astype(float), numbers[1])
    assert description["entry"]["task"] == "classification"
    assert (description["entry"]["n_train"], description["entry"]["n_features"]) == (50, 3)


def test_categories_are_coded_and_the_paragraph_says_so(tmp_path):
    opened, description = source(table(tmp_path, "a,kind,y", row="{i}.5,{t},{c}"))
    x, _ = rows(opened.train)
    np.testing.assert_array_equal(x[:, 1], np.arange(40) % 3)
    assert description["entry"]["categorical"] == [1]
    assert "one-hot coded: kind (3)" in description["told"]
    assert "most of their values are numbers" not in description["told"]


def test_several_targets_are_a_range_of_columns(tmp_path, numbers):
    np.save(tmp_path / "both.npy", np.column_stack([numbers[0], numbers[0] * 2]))
    opened, description = source(tmp_path / "both.npy", target="3:")
    x, y = rows(opened.train)
    np.testing.assert_allclose(y, 2 * numbers[0])
    np.testing.assert_allclose(x, numbers[0])
    assert (description["entry"]["task"], description["entry"]["n_targets"]) == ("regression", 3)


def test_a_test_file_and_test_arrays_are_taken_as_the_test_part(tmp_path, numbers):
    x, y = numbers
    np.savez(tmp_path / "four.npz", x_train=x, y_train=y, x_test=x[:5], y_test=y[:5])
    opened, description = source(tmp_path / "four.npz")
    np.testing.assert_allclose(rows(opened.test)[0], x[:5])
    assert description["entry"]["n_test"] == 5
    first, second = write(tmp_path / "a.csv", csv_text(x, y)), write(tmp_path / "b.csv", csv_text(x[:9], y[:9]))
    opened, description = source(first, test_file=str(second))
    np.testing.assert_allclose(rows(opened.test)[0], x[:9])
    assert description["entry"]["n_test"] == 9


def savetxt(path, x, y, **options):
    np.savetxt(path, np.column_stack([x, y]), fmt="%.3f", **options)
    return path


@pytest.mark.parametrize(
    ("delimiter", "header"),
    [
        (",", "a,b,c,label"),
        (" ", "a b c label"),
        (",", "made by me, on Monday, at home, alone\na,b,c,label"),
        (",", "a,b,c,label\nm,s,kg,none"),
    ],
)
def test_names_in_a_comment_before_the_rows_are_those_of_the_columns(tmp_path, numbers, delimiter, header):
    path = savetxt(tmp_path / "my.txt", *numbers, delimiter=delimiter, header=header)
    opened, description = source(path, target="label")
    x, y = rows(opened.train)
    np.testing.assert_array_equal(x, numbers[0])
    np.testing.assert_array_equal(y, numbers[1])
    assert description["entry"]["task"] == "classification"
    assert [one["name"] for one in description["entry"]["options"]["features"]] == ["a", "b", "c"]
    assert "a comment names the columns: a, b, c, label" in description["told"]


@pytest.mark.parametrize("comment", ["1.5,2,0.1,1", "three, words, only", "the rows of the day"])
def test_a_comment_that_is_no_header_is_left_aside(tmp_path, numbers, comment):
    description = described(savetxt(tmp_path / "my.csv", *numbers, delimiter=",", header=comment))
    assert [one["name"] for one in description["entry"]["options"]["features"]] == ["column 0", "column 1", "column 2"]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("blank", [" ", "\u00a0"])
def test_blanks_around_a_word_make_no_other_class_category_or_value(tmp_path, quote, blank):
    def cell(word, i):
        return f"{quote}{blank * (i % 2)}{word}{blank * (i % 3)}{quote}"

    lines = [
        ",".join([cell("NA" if i == 7 else f"{i * 0.3:.1f}", i), cell("uvw"[i % 3], i // 2), cell("yn"[i % 2], i // 3)])
        for i in range(60)
    ]
    path = write(tmp_path / "my.csv", "\n".join(["a,kind,y", *lines]))
    opened, description = source(path, missing="mean")
    x, y = rows(opened.train)
    assert description["entry"]["options"]["features"][1]["values"] == ["u", "v", "w"]
    assert sorted(set(y)) == ["n", "y"]
    assert np.flatnonzero(np.isnan(x[:, 0])).tolist() == [7]
    np.testing.assert_allclose(np.delete(x[:, 0], 7), np.delete(np.arange(60) * 0.3, 7))


@pytest.mark.parametrize(
    ("separator", "cells"),
    [
        (",", {-1.5: "\u22121.5", 1234.0: "1\u00a0234", -1234567.25: "\u22121\u202f234\u202f567.25", 2.0: "2"}),
        (";", {-1.5: "\u20131,5", 1234.0: "1 234", -1234567.25: "-1.234.567,25", 2.0: "2"}),
        (",", {-1.5: "-1.5", 1234.0: '"1,234"', -1234567.25: "\u22121'234'567.25", 2.0: "\u00a02 "}),
        ("\t", {-1.5: "\uff0d1.5", 1234.0: "1\u2009234", -1234567.25: "-1\u2019234\u2019567.25", 2.0: "2e0"}),
    ],
)
@pytest.mark.parametrize("header", ["a,b,y", ""])
def test_numbers_are_read_with_other_minus_signs_and_signs_between_thousands(tmp_path, separator, cells, header):
    values = np.array(list(cells))[np.arange(40) % 4]
    decimal = "," if separator == ";" else "."
    lines = [
        separator.join([f"{i * 0.3:.1f}".replace(".", decimal), cells[value], "\u22121" if i % 3 else "1"])
        for i, value in enumerate(values)
    ]
    path = write(tmp_path / "my.csv", "\n".join(([header.replace(",", separator)] if header else []) + lines))
    opened, description = source(path)
    x, y = rows(opened.train)
    np.testing.assert_allclose(x[:, 1], values)
    np.testing.assert_array_equal(y, np.where(np.arange(40) % 3, -1, 1))
    assert description["entry"]["categorical"] == []


@pytest.mark.parametrize("cell", ["12 34", "0 123", "1 234-5", "5 \u2212", "1\u00a02345", "1,23"])
def test_text_that_is_no_number_stays_text(tmp_path, cell):
    lines = [f'{i * 0.3:.1f},"{[cell, "7A", "8"][i % 3]}",{i % 2}' for i in range(40)]
    description = described(write(tmp_path / "my.csv", "\n".join(["a,b,y", *lines])))
    assert set(description["entry"]["options"]["features"][1]["values"]) == {cell, "7A", "8"}


def test_commas_that_may_be_decimal_signs_separate_no_thousands(tmp_path):
    lines = [f"{i * 0.3:.1f};{('1,234', '5,678')[i % 2]};{i % 3}" for i in range(40)]
    description = described(write(tmp_path / "my.csv", "\n".join(["a;b;y", *lines])))
    assert description["entry"]["options"]["features"][1]["values"] == ["1,234", "5,678"]


# What is guessed


@pytest.mark.parametrize(
    ("header", "target"),
    [("a,b,y", "y (by its name)"), ("class,b,c", "class (by its name)"), ("a,b,c", "c (the last)")],
)
def test_the_target_is_found_by_its_name_or_is_the_last_column(tmp_path, header, target):
    row = "{c},{j},{i}.5" if header.startswith("class") else "{i}.5,{j},{c}"
    assert f"the target is the column {target}" in described(table(tmp_path, header, row=row))["told"]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([i % 2 for i in range(60)], "classification"),
        ([0.5 + (i % 2) for i in range(60)], "classification"),
        ([i % 7 + 1 for i in range(60)], "classification"),
        ([i % 9 + 1 for i in range(60)], "regression"),
        (["red", "blue", "green"] * 20, "classification"),
        ([i / 7 for i in range(60)], "regression"),
        ([(i % 5) + 0.25 for i in range(60)], "regression"),
    ],
)
def test_the_task_follows_from_the_values_of_the_target(tmp_path, values, task):
    text = "a,b,y\n" + "\n".join(f"{i * 0.3},{i % 4},{value}" for i, value in enumerate(values))
    assert described(write(tmp_path / "my.csv", text))["entry"]["task"] == task


def test_identifiers_row_numbers_and_empty_columns_are_left_out_and_told(tmp_path):
    path = table(tmp_path, "id,name,empty,b,y", row="{i},person{i},,{j}.5,{c}")
    description = described(path)
    assert description["entry"]["n_features"] == 1
    for word in ("id (it counts the rows)", "name (nearly every row", "empty (it has no value)"):
        assert word in description["told"]


def test_pixels_are_scaled_together_and_other_numbers_each(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(200, 20))
    pixels[0], pixels[1] = 0, 255
    np.savez(tmp_path / "pixels.npz", X=pixels.astype(np.uint8), y=np.arange(200) % 4)
    assert described(tmp_path / "pixels.npz")["scaling"] == "unit"
    assert described(tmp_path / "pixels.npz")["range"] == [0, 255]
    pixels[:, 5:] //= 8  # most columns fill a small part of the range
    np.savez(tmp_path / "others.npz", X=pixels, y=np.arange(200) % 4)
    assert described(tmp_path / "others.npz")["scaling"] == "columns"
    assert described(table(tmp_path))["scaling"] == "columns"


# Entries under config/datasets/


def test_an_entry_is_found_by_its_name_and_the_command_line_comes_first(tmp_path):
    path = table(tmp_path)
    entry = tmp_path / "config" / "datasets" / "flats.yaml"
    entry.parent.mkdir(parents=True)
    entry.write_text(json.dumps({"file": str(path), "target": "y", "task": "regression", "title": "Flats"}))
    found = request.resolve({"dataset": "flats"}, tmp_path)
    assert (found.title, found.task) == ("Flats", "regression")
    assert request.resolve({"dataset": "flats", "task": "classification"}, tmp_path).task == "classification"


# From the description to prepared arrays


def prepare(tmp_path, path, **settings):
    asked = request.make("my", {"file": str(path), **settings}, "a test")
    stamp = tmp_path / "raw" / "verified.json"
    describe.write(asked, stamp)
    for purpose in comparison.PURPOSES:
        comparison.prepare(stamp, tmp_path / purpose, DIVISION, None)
    return [datasets.load(tmp_path / purpose) for purpose in comparison.PURPOSES]


def described_project(folder, path):
    asked = request.make("my", {"file": str(path)}, "a test")
    return describe.write(asked, folder / "data" / "raw" / "own-my" / "verified.json")


def test_a_project_that_is_moved_keeps_the_description_of_a_file_in_it(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    before = described_project(project, table(project))
    moved = project.rename(tmp_path / "moved")
    monkeypatch.chdir(moved)
    stamp = moved / "data" / "raw" / "own-my" / "verified.json"
    comparison.prepare(stamp, moved / "test", DIVISION, None)
    description = describe.read(stamp)
    assert before["files"][0]["path"] == str(project / "my.csv")
    assert description["files"][0]["path"] == str(moved / "my.csv")
    _, x, _ = fit_preparation(description, comparison.feature_steps(description), False, moved)
    assert len(x) == 40


def test_the_rows_to_choose_with_hold_no_test_row(tmp_path):
    path = table(tmp_path, n=200, row="{i}.5,{j},{c}")
    choose, test = prepare(tmp_path, path, scaling="none")
    tested = set(test.x_test[:, 0].tolist())
    assert len(tested) == 40
    assert not tested & set(choose.x_train[:, 0].tolist()) and not tested & set(choose.x_test[:, 0].tolist())
    assert not set(choose.x_train[:, 0].tolist()) & set(choose.x_test[:, 0].tolist())
    assert (len(choose.y_train), len(choose.y_test), len(test.y_train)) == (128, 32, 160)


def test_missing_values_are_filled_by_what_the_training_rows_have(tmp_path):
    gaps = {i: f",{'uvw'[i % 3]},{i % 2}" for i in range(0, 200, 10)} | {5: "5.5,,1"}
    path = table(tmp_path, "a,kind,y", n=200, row="{i}.5,{t},{c}", change=gaps)
    _, test = prepare(tmp_path, path, missing="median", scaling="none")
    held = draw_rows(200, 40, 0, "split", np.arange(200) % 2)
    training = np.array([i + 0.5 for i in range(200) if i % 10 and i not in held])
    imputed = next(one["impute"] for one in test.info["statistics"] if "impute" in one)
    assert imputed["values"][0] == np.median(training)
    assert np.isin(np.float32(np.median(training)), test.x_train[:, 0])
    assert test.x_train.shape[1] == 4  # one number, three categories
    assert (test.x_train[:, 1:].sum(axis=1) == 1).all()


def test_reading_an_archive_in_blocks_holds_a_block_and_not_the_whole(tmp_path):
    path = tmp_path / "large.npz"
    np.savez_compressed(path, x=np.zeros((400_000, 50)), y=np.zeros(400_000))
    code = (
        "import sys; from pathlib import Path; from shallows import arrays\n"
        "from shallows_papers.datasets.user_data.array_files import array_blocks\n"
        "before = arrays.peak_memory()\n"
        "n = sum(len(block.x) for block in array_blocks(Path(sys.argv[1]), {'layout': {'x': 'x', 'y': 'y'}}, 10_000))\n"
        "print(n, arrays.peak_memory() - before)"
    )
    told = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True).stdout
    n, n_bytes = map(int, told.split())
    assert n == 400_000
    assert n_bytes < 60e6  # the array itself takes 160e6
