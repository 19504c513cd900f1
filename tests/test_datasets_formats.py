"""The readers: right numbers from small files, one clear error from bad ones."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from dataclasses import replace

import numpy as np
import pytest

from datasets_example import dataset
from shallows.datasets import DatasetError, formats
from shallows.errors import UnknownNameError

CSV = b"1,-2,7\n3,4,8\n"
LIBSVM = b"-1 2:0.5\n+1 1:1 3:-2.5\n"
COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_csv_is_read_through_its_compression(tmp_path, suffix):
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](CSV))
    x, y = formats.read_csv(path, dtype="int16")
    np.testing.assert_array_equal(x, [[1, -2], [3, 4]])
    assert x.dtype == np.int16
    np.testing.assert_array_equal(y, [7, 8])


def test_csv_has_its_target_where_it_is_said_to_be(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"name;a;b\nyes;1;2\nno;3;4\n")
    x, y = formats.read_csv(path, target=0, separator=";", header=1)
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    assert list(y) == ["yes", "no"]


def test_csv_blocks_are_put_together_in_order(tmp_path):
    path = tmp_path / "long.csv"
    n = 70_000  # more than one block of rows
    path.write_text("".join(f"{i},{i % 3}\n" for i in range(n)))
    x, y = formats.read_csv(path)
    np.testing.assert_array_equal(x[:, 0], np.arange(n))
    np.testing.assert_array_equal(y, np.arange(n) % 3)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_libsvm_is_read_through_its_compression(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    path.write_bytes(COMPRESS[suffix](LIBSVM))
    x, y = formats.read_libsvm(path, n_features=4)
    np.testing.assert_array_equal(x.toarray(), [[0, 0.5, 0, 0], [1, 0, -2.5, 0]])
    np.testing.assert_array_equal(y, [-1, 1])


@pytest.mark.parametrize("shape", [(5,), (4, 3, 2)])
def test_idx_comes_back_as_it_was_written(tmp_path, shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    path = tmp_path / "array.gz"
    path.write_bytes(gzip.compress(formats.write_idx(array)))
    np.testing.assert_array_equal(formats.read_idx(path), array)


def test_idx_of_other_types_is_big_endian(tmp_path):
    path = tmp_path / "array"
    path.write_bytes(struct.pack(">HBBI3i", 0, 0x0C, 1, 3, -1, 0, 70_000))
    np.testing.assert_array_equal(formats.read_idx(path), [-1, 0, 70_000])


def test_only_bytes_are_written_as_idx():
    with pytest.raises(ValueError, match="uint8"):
        formats.write_idx(np.zeros(3))


@pytest.mark.parametrize(
    ("format", "name", "content", "words"),
    [
        ("csv", "bad.csv", b"1,x,0\n", "cannot be read .csv format.*could not convert"),
        ("csv", "bad.csv", b"", "cannot be read .csv format"),
        ("csv", "bad.csv.gz", gzip.compress(CSV)[:-6], "cannot be read .csv format"),
        ("libsvm", "bad", b"1 2:3 1:x\n", "cannot be read .libsvm format"),
        ("libsvm", "bad", b"1 9:3\n", "cannot be read .libsvm format"),
        ("libsvm", "bad.gz", b"not compressed", "cannot be read .libsvm format"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_format(tmp_path, format, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=words) as told:
        formats.read(dataset(format=format), {"all": tmp_path / name})
    assert name in str(told.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"<html>", "idx header"), (struct.pack(">HBBI", 0, 8, 1, 5) + b"1234", "promises 13 bytes and it holds 12")],
)
def test_an_idx_file_that_is_none_is_told(tmp_path, content, words):
    path = tmp_path / "array"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=words):
        formats.read(dataset(format="idx"), dict.fromkeys(("train_images", "train_labels"), path))


def test_a_missing_whole_number_is_told_and_not_made_up(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_bytes(b"1,2,0\n,2,0\n")
    with pytest.raises(DatasetError, match="cannot be read"):
        formats.read(dataset(options={"dtype": "int16"}), {"all": path})


def test_a_size_that_differs_from_the_catalogue_is_told(tmp_path):
    path = tmp_path / "toy.csv"
    path.write_bytes(CSV)
    with pytest.raises(DatasetError, match=r"2 rows of 2 features and 2 targets, where the catalogue says 80 rows"):
        formats.read(dataset(), {"all": path})


def test_an_unknown_format_is_told(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'libsvm'"):
        formats.read(replace(dataset(), format="libsv"), {})
