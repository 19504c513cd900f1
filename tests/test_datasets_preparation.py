"""What a preparation writes, from the training part's statistics alone, within its memory, and what goes wrong."""

import errno
import json
import os

import numpy as np
import pytest

from datasets_example import dataset, prepared, three_classes, write_table
from shallows.errors import UnknownNameError
from shallows_papers import datasets
from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.preparation import pipeline, working_table
from shallows_papers.datasets.prepared import ARRAYS

LEARNING = [[{"unit": {}}], [{"zscore": {}}], [{"pca": {"n_components": 2}}], [{"one_hot": {"columns": [1]}}]]


@pytest.fixture
def numbers():
    return three_classes()


# What comes out


def test_arrays_are_mapped_and_of_the_stated_types(tmp_path, numbers):
    data = prepared(tmp_path, numbers, [])
    for array in (data.x_train, data.x_test):
        assert isinstance(array, np.memmap)
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    np.testing.assert_array_equal(data.x_train, numbers[0].astype(np.float32))
    np.testing.assert_array_equal(data.y_test, numbers[3] - 1)
    assert data.y_train.dtype == np.int64


def test_the_record_says_what_was_done(tmp_path, numbers):
    info = prepared(tmp_path, numbers, [{"subset": {"n_train": 30}}, {"zscore": None}]).info
    assert info == json.loads((tmp_path / "out" / "prepared.json").read_text())
    assert (info["dataset"], info["title"], info["task"], info["licence"]) == ("table", "Toy", "classification", "CC0")
    assert (info["n_train"], info["n_test"], info["n_features"]) == (30, 30, 5)
    assert info["classes"] == ["1", "2", "3"]
    assert info["target_coding"] == "class indices"
    assert info["steps"] == [
        {"subset": {"n_train": 30, "n_test": None, "seed": 0, "stratify": None}},
        {"zscore": {"center": True, "numeric_only": False}},
    ]
    assert [source["name"] for source in info["sources"]] == ["train.csv", "test.csv"]
    assert len(info["statistics"][1]["zscore"]["mean"]) == 5
    assert set(info["seconds"]) == {"reading", "statistics", "writing", "total"}
    assert info["peak_memory_bytes"] > 10_000_000


def test_the_same_steps_give_the_same_bytes(tmp_path, numbers):
    steps = [{"subset": {"n_train": 40, "n_test": 20}}, {"zscore": {}}, {"pca": {"n_components": 3}}]
    first, second = (prepared(tmp_path, numbers, steps, name=name) for name in ("one", "two"))
    for key in ARRAYS:
        assert (tmp_path / "one" / f"{key}.npy").read_bytes() == (tmp_path / "two" / f"{key}.npy").read_bytes()
    assert first.info["sha256"] == second.info["sha256"]
    third = prepared(tmp_path, numbers, [{"subset": {"n_train": 40, "n_test": 20, "seed": 1}}], name="three")
    assert third.info["sha256"] != first.info["sha256"]


@pytest.mark.parametrize("steps", LEARNING)
def test_blocks_make_no_difference(tmp_path, numbers, monkeypatch, steps):
    whole = prepared(tmp_path, numbers, steps, name="whole")
    monkeypatch.setattr(working_table, "BLOCK_BYTES", 7 * 8 * 5)  # seven rows
    blocks = prepared(tmp_path, numbers, steps, name="blocks")
    # Sums in another order: equal to a few float32 roundings.
    np.testing.assert_allclose(blocks.x_train, whole.x_train, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("steps", [*LEARNING, [{"subset": {"n_train": 30, "n_test": 10}}, {"zscore": {}}]])
def test_test_rows_change_neither_training_rows_nor_statistics(tmp_path, numbers, steps):
    x, y, x_test, y_test = numbers
    before = prepared(tmp_path, numbers, steps, name="before")
    after = prepared(tmp_path, (x, y, x_test * 3 - 100, y_test), steps, name="after")
    np.testing.assert_array_equal(after.x_train, before.x_train)
    assert after.info["statistics"] == before.info["statistics"]
    assert not np.array_equal(after.x_test, before.x_test)


def test_the_size_after_a_preparation_is_known_beforehand(tmp_path, numbers):
    steps = [{"subset": {"n_train": 50, "n_test": 7}}, {"split": {"n": 0.3}}, {"pca": {"n_components": 2}}]
    info = prepared(tmp_path, numbers, steps).info
    entry = write_table(tmp_path / "files", *numbers)
    assert datasets.shape_after(entry, steps) == (info["n_train"], info["n_test"], info["n_features"]) == (35, 15, 2)
    # Classes of equal size are supposed.
    assert datasets.shape_after(entry, [{"keep_classes": {"classes": [1, 2]}}]) == (40, 20, 5)


@pytest.mark.parametrize("memory", [1, None])
def test_a_pooled_split_divides_the_rows_of_both_parts_anew(tmp_path, numbers, memory):
    whole = prepared(tmp_path, numbers, [], name="whole")
    x, y, x_test, y_test = whole.x_train, whole.y_train, whole.x_test, whole.y_test
    steps = [{"split": {"n": 30, "pooled": True, "seed": 1}}]
    entry = write_table(tmp_path / "files", *numbers)
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    datasets.prepare(entry, stamp, tmp_path / "out", steps, memory)
    found = datasets.load(tmp_path / "out")
    n = len(x) + len(x_test)
    assert datasets.shape_after(entry, steps)[:2] == (len(found.x_train), len(found.x_test)) == (n - 30, 30)

    def rows(x, y):
        return {(*row, label) for row, label in zip(x.tolist(), y.tolist(), strict=True)}

    both = [rows(found.x_train, found.y_train), rows(found.x_test, found.y_test)]
    assert not both[0] & both[1] and both[0] | both[1] == rows(x, y) | rows(x_test, y_test)
    assert both[1] & rows(x, y) and both[1] & rows(x_test, y_test)


# The memory budget


def test_the_budget_makes_no_difference_to_what_comes_out(tmp_path, numbers):
    steps = [{"subset": {"n_train": 40}}, {"zscore": {}}, {"pca": {"n_components": 3}}]
    entry = write_table(tmp_path / "files", *numbers)
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    found = [datasets.prepare(entry, stamp, tmp_path / str(memory), steps, memory) for memory in (None, 1, "2 GB")]
    assert len({one["sha256"] for one in found}) == 1
    assert not list(tmp_path.rglob("*.part"))


# What goes wrong


@pytest.mark.parametrize(
    ("steps", "error", "words"),
    [
        ([{"zscor": {}}], UnknownNameError, "no preparation step 'zscor'. Did you mean 'zscore'"),
        ([{"pca": {"components": 3}}], UnknownNameError, "Did you mean 'n_components'"),
        ([{"pca": {}}], DatasetError, "The step pca needs n_components"),
        ([{"pca": {"n_components": 6}}], DatasetError, "asks for 6 components, but 60 training rows of 5 features"),
        ([{"subset": {"n_train": 61}}], DatasetError, "asks for n_train = 61 rows, but 'table' has only 60"),
        ([{"split": {"n": 1.5}}], DatasetError, "share between 0 and 1"),
        ([{"split": {"n": 60}}], DatasetError, "at least one must remain"),
        ([{"zscore": {}}, {"split": {"n": 5}}], DatasetError, "split must come before zscore"),
        ([{"fold": {"fold": 0, "of": 3}}], DatasetError, "fold must be a whole number from 1 to 3, not 0"),
        ([{"fold": {"fold": 1, "of": 61}}], DatasetError, "61 parts of the 60 training rows of 'table'"),
        ([{"unit": {"range": [1, 0]}}], DatasetError, "two ascending numbers"),
        ([{"one_hot": {}}], DatasetError, "no columns to encode"),
        ([{"one_hot": {"columns": [5]}}], DatasetError, "names column 5, but there are 5"),
        ([{"signs": {"positive": ["9"]}}], UnknownNameError, "no class '9'"),
        ([{"signs": {}}, {"signs": {}}], DatasetError, "the targets are signs"),
        ([{"signs": {"positive": [1, 2, 3]}}], DatasetError, "only one class"),
        ([{"center_target": {}}], DatasetError, "is for regression"),
        ([{"keep_classes": {"classes": [1]}}], DatasetError, "two or more different names"),
        ([{"signs": {}}, {"keep_classes": {"classes": [1, 2]}}], DatasetError, "it comes before signs"),
        ([{"grayscale": {}}], DatasetError, "features of 'table' are not known to be pixels"),
        ([{"zscore": {}}, {"impute": {}}], DatasetError, "must be the first that changes features"),
        ([{"impute": {"strategy": "guess"}}], DatasetError, "one of mean, median, most_frequent, or a number"),
        (["zscore"], DatasetError, "a name with its parameters"),
    ],
)
def test_a_step_that_cannot_be_done_is_told_and_leaves_nothing(tmp_path, numbers, steps, error, words):
    with pytest.raises(error, match=words):
        prepared(tmp_path, numbers, steps)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", [0, 2])
def test_a_value_that_is_no_number_is_told_with_its_place(tmp_path, numbers, monkeypatch, value, part):
    monkeypatch.setattr(working_table, "BLOCK_BYTES", 7 * 8 * 5)  # seven rows
    spoilt = [array.copy() for array in numbers]
    spoilt[part][17, 2] = value
    words = f"{'test' if part else 'training'} part of 'table' holds {value} in row 18, feature 3"
    with pytest.raises(DatasetError, match=words):
        prepared(tmp_path, spoilt, [{"unit": {}}])
    assert not list(tmp_path.glob("out/*"))


def test_a_value_beyond_single_precision_is_told(tmp_path, numbers):
    numbers[0][3, 0] = 1e39
    with pytest.raises(DatasetError, match="too large for single precision"), np.errstate(over="ignore"):
        prepared(tmp_path, numbers, [])
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize(
    ("task", "y", "y_test", "words"),
    [
        ("regression", [1, 2, 3, 1, np.nan, 2] * 10, [1.0] * 30, "target of row 5 of 'table' is nan"),
        ("classification", [1] * 60, [1] * 30, "only one class: 1"),
        ("classification", [1, 2, 3] * 20, [7] * 30, "has the class 7, which the training part lacks"),
    ],
)
def test_targets_that_cannot_be_used_are_told(tmp_path, numbers, task, y, y_test, words):
    with pytest.raises(DatasetError, match=words):
        prepared(tmp_path, (numbers[0], np.array(y), numbers[2], np.array(y_test)), [], task=task)


def test_names_of_classes_are_refused_if_they_are_the_labels_in_another_order(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    words = np.array(["", "benign", "malignant", "normal"])
    texts = (x, words[y], x_test, words[y_test])
    with pytest.raises(DatasetError, match=r"labels of the files are benign, malignant, normal\. W"):
        prepared(tmp_path, texts, [], classes=("malignant", "benign", "normal"))
    named = prepared(tmp_path, texts, [], "sorted", classes=("benign", "malignant", "normal"))
    np.testing.assert_array_equal(named.y_train, y - 1)
    assert prepared(tmp_path, numbers, [], "renamed", classes=("b", "a", "c")).info["classes"] == ["b", "a", "c"]


def test_data_without_a_test_part_needs_a_split(tmp_path, numbers):
    x, y, _, _ = numbers
    entry = write_table(tmp_path / "files", x, y, x[:0], y[:0])
    entry = dataset(name="table", state="embedded", n_train=60, n_features=5, n_classes=3, files=entry.files[:1])
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    with pytest.raises(DatasetError, match=r"no test part\. Add the step split"):
        datasets.prepare(entry, stamp, tmp_path / "out")
    info = datasets.prepare(entry, stamp, tmp_path / "out", [{"split": {"n": 10}}])
    assert (info["n_train"], info["n_test"]) == (50, 10)


def test_a_file_that_changed_after_it_was_verified_is_told(tmp_path, numbers):
    prepared(tmp_path, numbers, [])
    entry = write_table(tmp_path / "files", *numbers)
    path = tmp_path / "files" / "table" / "train.csv"
    path.write_bytes(path.read_bytes().replace(b"4.0", b"5.0"))
    stamp = tmp_path / "raw" / "table" / "verified.json"
    with pytest.raises(DatasetError, match="has changed since it was verified"):
        datasets.prepare(entry, stamp, tmp_path / "again")
    path.unlink()
    with pytest.raises(DatasetError, match="does not exist any more"):
        datasets.prepare(entry, stamp, tmp_path / "again")
    with pytest.raises(DatasetError, match="verifies the dataset 'table', not 'a9a'"):
        datasets.prepare("a9a", stamp, tmp_path / "again")
    with pytest.raises(DatasetError, match="Fetch the dataset 'table' first"):
        datasets.prepare(entry, tmp_path / "nothing.json", tmp_path / "again")


def test_a_full_disk_leaves_nothing_that_looks_finished(tmp_path, numbers, monkeypatch):
    prepared(tmp_path, numbers, [])
    genuine = pipeline._ArrayFile.append

    def full(array, block):
        if "x_test" in array.file.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        genuine(array, block)

    monkeypatch.setattr(pipeline._ArrayFile, "append", full)
    with pytest.raises(DatasetError, match=r"x_test\.npy could not be written: no space left on device"):
        prepared(tmp_path, numbers, [{"zscore": {}}])
    assert not list((tmp_path / "out").glob(".*"))
    with pytest.raises(DatasetError, match="no finished preparation"):
        datasets.load(tmp_path / "out")


def test_arrays_that_do_not_fit_their_record_are_told(tmp_path, numbers):
    prepared(tmp_path, numbers, [])
    np.save(tmp_path / "out" / "y_test.npy", np.zeros(3, dtype=np.int64))
    with pytest.raises(DatasetError, match=r"y_test\.npy holds <i8 of shape \(3,\), but its record says"):
        datasets.load(tmp_path / "out")
    (tmp_path / "out" / "y_test.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(DatasetError, match=r"y_test\.npy cannot be read"):
        datasets.load(tmp_path / "out")
    (tmp_path / "out" / "prepared.json").write_text("{")
    with pytest.raises(DatasetError, match="is not a record"):
        datasets.load(tmp_path / "out")
