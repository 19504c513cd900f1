"""Readers of CSV, LIBSVM, IDX, ARFF and molecules: right numbers from small files, one clear error from bad ones."""

import bz2
import gzip
import lzma
import struct
from functools import partial

import numpy as np
import pytest

from datasets_example import CSV, dataset, entry, mirrored_files, read, read_csv, rows_of, source
from shallows_papers.datasets import DatasetError, File, get
from shallows_papers.datasets.formats.idx import read_idx, write_idx

LIBSVM = b"-1 2:0.5\n+1 1:1 3:-2.5\n"
COMPRESS = {"": bytes, ".gz": partial(gzip.compress, mtime=0), ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_csv_is_read_through_its_compression(tmp_path, suffix):
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](CSV))
    x, y = read_csv(path, dtype="int16")
    np.testing.assert_array_equal(x, [[1, -2], [3, 4]])
    assert x.dtype == np.int16
    np.testing.assert_array_equal(y, [7, 8])


def test_csv_has_its_target_where_it_is_said_to_be(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"name;a;b\nyes;1;2\nno;3;4\n")
    x, y = read_csv(path, target=0, separator=";", header=1)
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    assert list(y) == ["yes", "no"]


def rows_with_target(tmp_path, content, target, header):
    made = entry(2, 0, 2, "csv", parts=["all"], options={"target": target, "header": header})
    return rows_of(source(tmp_path, {"all": ("it.csv", content)}, made).train)


def test_csv_has_its_target_in_the_column_of_that_name(tmp_path):
    content = b'two,kinds,of rows\na,"kind, in words",b\n1,yes,2\n3,no,4\n'
    x, y = rows_with_target(tmp_path, content, "kind, in words", 2)
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    assert list(y) == ["yes", "no"]


@pytest.mark.parametrize(
    ("target", "header", "words"),
    [
        ("size", 0, r"it.csv cannot be read.*'size', but 'header' is 0, so no line has names"),
        ("size", 1, "it.csv cannot be read.*'size', but none of its columns have this name: a, kind, a"),
        ("a", 1, "'a', but 2 of its columns have this name"),
    ],
)
def test_a_name_of_the_target_that_is_not_the_name_of_a_single_column_is_refused(tmp_path, target, header, words):
    with pytest.raises(DatasetError, match=words):
        rows_with_target(tmp_path, b"a,kind,a\n1,yes,2\n3,no,4\n", target, header)


@pytest.mark.parametrize("shape", [(5,), (4, 3, 2)])
def test_idx_comes_back_as_it_was_written(tmp_path, shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    path = tmp_path / "array.gz"
    path.write_bytes(gzip.compress(write_idx(array)))
    np.testing.assert_array_equal(read_idx(path), array)


@pytest.mark.parametrize(
    ("format", "name", "content", "words"),
    [
        ("csv", "bad.csv", b"1,x,0\n", "cannot be read .csv format.*could not convert"),
        ("csv", "bad.csv", b"", "cannot be read .csv format"),
        ("csv", "bad.csv.gz", gzip.compress(CSV, mtime=0)[:-6], "cannot be read .csv format"),
        ("libsvm", "bad", b"1 2:3 1:x\n", "cannot be read .libsvm format"),
        ("libsvm", "bad.gz", b"not compressed", "cannot be read .libsvm format"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_format(tmp_path, format, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=words) as told:
        read(dataset(format=format), {"all": tmp_path / name})
    assert name in str(told.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"<html>", "idx header"), (struct.pack(">HBBI", 0, 8, 1, 5) + b"1234", "promises 13 bytes, but it has 12")],
)
def test_an_idx_file_that_is_none_is_told(tmp_path, content, words):
    path = tmp_path / "array"
    path.write_bytes(content)
    files = tuple(File(part, part) for part in ("train_images", "train_labels"))
    with pytest.raises(DatasetError, match=words):
        read(dataset(format="idx", files=files), dict.fromkeys(("train_images", "train_labels"), path))


def test_a_size_that_differs_from_the_catalogue_is_told(tmp_path):
    path = tmp_path / "toy.csv"
    path.write_bytes(CSV)
    with pytest.raises(DatasetError, match=r"has 2 rows of 2 features, but the catalogue says 80 rows of 2"):
        read(dataset(), {"all": path})


# ARFF and molecules

ARFF = b"""% a comment
@relation 'of some kind'
@attribute lread numeric
@ATTRIBUTE 'its state' {on, 'half on', off}
@attribute usr REAL
@data
% another
1.5, 'half on', 90
?, off, 88
"""


def arff_rows(tmp_path, content, n, n_features, target):
    made = entry(n, 0, n_features, "arff", parts=["all"], options={"target": target}, task="regression")
    return rows_of(source(tmp_path, {"all": ("it.arff", content)}, made).train)


def test_arff_is_read_with_its_words_as_codes_and_its_question_marks_as_missing(tmp_path):
    x, y = arff_rows(tmp_path, ARFF, 2, 2, "usr")
    np.testing.assert_array_equal(x, [[1.5, 1], [np.nan, 2]])
    np.testing.assert_array_equal(y, [90, 88])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1,2,3\n", "no ARFF header"),
        (b"@relation x\n@data\n1\n", "no ARFF header"),
        (b"@attribute when date\n@data\n2020\n", "its attribute when holds text"),
        (b"@attribute bag relational\n@data\n1\n", "its attribute bag has the type 'relational'"),
    ],
)
def test_an_arff_file_that_cannot_be_read_is_told(tmp_path, content, words):
    with pytest.raises(DatasetError, match=words):
        arff_rows(tmp_path, content, 1, 1, -1)


def test_molecules_come_as_text(tmp_path):
    content = b"id,SMILES_str,pce,voc\n1,c1ccccc1,3.5,0\n2,C=C,-0.25,0\n"
    options = {"smiles": "SMILES_str", "target": "pce"}
    made = entry(2, 0, 1, "smiles", parts=["all"], options=options, task="regression")
    x, y = rows_of(source(tmp_path, {"all": ("moldata.csv", content)}, made).train)
    assert x.tolist() == [["c1ccccc1"], ["C=C"]]
    np.testing.assert_array_equal(y, [3.5, -0.25])


# The real files, where they are available


def test_the_real_adult_rows_with_unknown_values_are_kept():
    raw = read(get("adult_uci"), mirrored_files("adult_uci"))
    # As counted by others: 2,399 training and 1,221 test rows hold a "?", whose code is 0 in these three columns.
    assert [int((x[:, [1, 6, 13]] == 0).any(axis=1).sum()) for x in (raw.x_train, raw.x_test)] == [2399, 1221]
