"""Parts of datasets read in blocks of rows, whichever files they lie in, and LIBSVM files at size."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys

import numpy as np
import pytest

from datasets_example import entry, rows_of, source
from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.formats import libsvm
from shallows_papers.datasets.formats.idx import write_idx


def test_one_file_is_divided_in_the_order_of_its_rows(tmp_path):
    content = "".join(f"{year},{year - 1900},0.5\n" for year in range(1990, 2000)).encode()
    made = entry(7, 3, 2, "csv", parts=["all"], options={"target": 0}, task="regression")
    opened = source(tmp_path, {"all": ("year.txt", content)}, made)
    x, y = rows_of(opened.train)
    x_test, y_test = rows_of(opened.test)
    np.testing.assert_array_equal(y, np.arange(1990.0, 1997.0))
    np.testing.assert_array_equal(y_test, [1997.0, 1998.0, 1999.0])
    np.testing.assert_array_equal(x_test[:, 0], [97, 98, 99])
    assert (len(x), y.dtype) == (7, np.float64)


ADULT = {
    "train": b"39, State-gov, 77516, <=50K\n50, ?, 83311, >50K\n\n",
    "test": b"|1x3 Cross validator\n25, Private, 226802, >50K.\n\n",
}
ADULT_OPTIONS = {"comment": "|", "spaces": True, "label_end": ".", "categories": {"1": ["?", "Private", "State-gov"]}}


def test_adult_has_its_words_as_codes_and_its_labels_without_dots(tmp_path):
    made = entry(2, 1, 3, "csv", parts=["train", "test"], options=ADULT_OPTIONS)
    opened = source(tmp_path, {part: (part, content) for part, content in ADULT.items()}, made)
    x, y = rows_of(opened.train)
    np.testing.assert_array_equal(x, [[39, 2, 77516], [50, 0, 83311]])
    assert list(y) == ["<=50K", ">50K"]
    assert list(rows_of(opened.test)[1]) == [">50K"]


def test_a_word_that_the_catalogue_does_not_list_is_told_with_its_place(tmp_path):
    contents = {"train": ("train", ADULT["train"] + b"1, Martian, 3, >50K\n"), "test": ("test", ADULT["test"])}
    opened = source(tmp_path, contents, entry(3, 1, 3, "csv", parts=["train", "test"], options=ADULT_OPTIONS))
    with pytest.raises(DatasetError, match="row 3, column 2 has a word that the catalogue does not list"):
        rows_of(opened.train, 2)


@pytest.mark.parametrize(("options", "expected"), [({"positive": [2]}, [0, 1, 0]), ({"negative": [2]}, [1, 0, 1])])
def test_some_classes_are_set_against_the_others(tmp_path, options, expected):
    made = entry(3, 0, 1, "csv", parts=["all"], options=options)
    y = rows_of(source(tmp_path, {"all": ("it.csv", b"0,1\n0,2\n0,7\n")}, made).train)[1]
    assert y.tolist() == expected


def test_class_counts_that_differ_from_the_catalogue_are_told(tmp_path):
    made = entry(3, 0, 1, "csv", parts=["all"], class_counts=(1, 2))
    opened = source(tmp_path, {"all": ("it.csv", b"0,1\n0,1\n0,2\n")}, made)
    with pytest.raises(DatasetError, match="has the classes 1: 2, 2: 1, but the catalogue says 1, 2"):
        rows_of(opened.train)


# LIBSVM at size, in the form of MNIST-8M


def mnist8m_like(n: int) -> tuple[bytes, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (n, 20)) * (rng.random((n, 20)) < 0.3)
    y = rng.integers(0, 10, n)
    lines = [f"{c} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) for c, row in zip(y, x, strict=True)]
    return ("\n".join(lines) + "\n").encode(), x, y


def test_a_file_of_the_form_of_mnist8m_is_read_in_blocks_with_its_idx_test_part(tmp_path, monkeypatch):
    monkeypatch.setattr(libsvm, "TEXT_BYTES", 100)  # less than some lines
    text, x, y = mnist8m_like(200)
    contents = {
        "train": ("mnist8m.xz", lzma.compress(text)),
        "test_images": ("t10k-images.gz", gzip.compress(write_idx(x[:4].astype(np.uint8).reshape(4, 4, 5)))),
        "test_labels": ("t10k-labels.gz", gzip.compress(write_idx(y[:4].astype(np.uint8)))),
    }
    made = entry(200, 4, 20, "libsvm", parts=list(contents), options={"dtype": "uint8", "dense": True})
    opened = source(tmp_path, contents, made)
    found, labels = rows_of(opened.train, 7)
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(labels, y)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(rows_of(opened.test)[0], x[:4])


@pytest.mark.slow
def test_a_long_file_is_read_in_bounded_memory(tmp_path):
    line = "3 " + " ".join(f"{j}:{j % 255 + 1}" for j in range(1, 785)) + "\n"
    path = tmp_path / "long.xz"
    with lzma.open(path, "wt", preset=0) as file:
        for _ in range(20):
            file.write(line * 500)
    code = (
        "import sys; from pathlib import Path; from shallows_papers.datasets.formats import libsvm; "
        "from shallows.arrays import peak_memory; import sklearn.datasets; "
        "first = next(libsvm.libsvm_blocks(Path(sys.argv[1]), 784, 1000, 'uint8', True)); before = peak_memory(); "
        "n = sum(len(b.y) for b in libsvm.libsvm_blocks(Path(sys.argv[1]), 784, 1000, 'uint8', True)); "
        "print(n, peak_memory() - before)"
    )
    told = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    n, grown = map(int, told.stdout.split())
    assert n == 10_000
    # The text has 58 MB, and a sparse matrix of it 95 MB: neither fits next to a block. Blocks of text have 8 MB;
    # what the reader ahead, the parser and the block hold at one time differs from run to run, between 27 and 44 MB.
    assert grown < 55e6


def test_values_that_a_whole_type_cannot_hold_are_told(tmp_path):
    for content in (b"1 1:256\n", b"1 1:0.5\n", b"1 1:-1\n"):
        made = entry(1, 0, 2, "libsvm", parts=["all"], options={"dtype": "uint8", "dense": True})
        with pytest.raises(DatasetError, match="not whole numbers from 0 to 255"):
            rows_of(source(tmp_path, {"all": ("it", content)}, made).train)


def test_rcv1_has_the_topic_of_every_document_as_its_target(tmp_path):
    contents = {
        "train_1": ("pt0.dat.gz", gzip.compress(b"2286  1:0.5 3:1\n2287  2:1\n")),
        "train_2": ("pt1.dat.gz", gzip.compress(b"2290  3:0.25\n")),
        "test": ("train.dat.gz", gzip.compress(b"2288  1:1\n2289  2:1\n")),
        "topics": ("topics.gz", gzip.compress(b"E11 2286 1\nCCAT 2287 1\nM11 2287 1\nCCAT 2288 1\nC151 2290 1\n")),
    }
    made = entry(3, 2, 3, "rcv1", parts=list(contents), options={"topic": "CCAT"})
    opened = source(tmp_path, contents, made)
    x, y = rows_of(opened.train)
    np.testing.assert_array_equal(x, np.array([[0.5, 0, 1], [0, 1, 0], [0, 0, 0.25]], np.float32))
    assert y.tolist() == [0, 1, 0]
    assert rows_of(opened.test)[1].tolist() == [1, 0]
