"""The readers: right numbers from small files, one clear error from bad ones."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.io

from datasets_example import MIRROR, dataset, needs_mirror, read, read_csv, read_libsvm
from shallows.datasets import Dataset, DatasetError, File, fetch, get, load, prepare
from shallows.datasets.formats import libsvm
from shallows.datasets.formats.containers import open_binary
from shallows.datasets.formats.delimited_text import Columns, TextLayout, csv_blocks
from shallows.datasets.formats.idx import read_idx, write_idx
from shallows.datasets.formats.source import open_source
from shallows.errors import UnknownNameError

CSV = b"1,-2,7\n3,4,8\n"
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


def test_reading_ahead_gives_the_same_bytes(tmp_path):
    content = np.random.default_rng(0).bytes(5_000_000)
    path = tmp_path / "content.gz"
    path.write_bytes(gzip.compress(content, 1))
    with open_binary(path, ahead=True) as file:
        assert file.read(10) + file.read() == content


def test_reading_ahead_raises_the_error_of_a_truncated_file_where_it_ends(tmp_path):
    path = tmp_path / "content.gz"
    path.write_bytes(gzip.compress(np.random.default_rng(0).bytes(1_000_000), 1)[:-100_000])
    with open_binary(path, ahead=True) as file:
        assert len(file.read(500_000)) == 500_000
        with pytest.raises(EOFError):
            file.read()


def test_closing_a_stream_that_is_read_ahead_ends_its_thread(tmp_path):
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(50_000_000), 1))
    file = open_binary(path, ahead=True)
    file.read(1)
    file.close()
    assert not any("read ahead" in thread.name for thread in threading.enumerate())


def test_a_small_csv_is_read_in_one_block_and_a_large_one_in_many(tmp_path):
    path = tmp_path / "table.csv"
    table = np.arange(3000).reshape(1000, 3)
    np.savetxt(path, table, "%d", ",")
    for rows, n_blocks in ((None, 1), (5000, 1), (100, 10)):
        blocks = list(csv_blocks(path, TextLayout(), Columns(), rows))
        assert len(blocks) == n_blocks
        assert np.array_equal(np.concatenate([block.x for block in blocks]), table[:, :2])


def test_csv_has_its_target_where_it_is_said_to_be(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"name;a;b\nyes;1;2\nno;3;4\n")
    x, y = read_csv(path, target=0, separator=";", header=1)
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    assert list(y) == ["yes", "no"]


def test_csv_blocks_are_put_together_in_order(tmp_path):
    path = tmp_path / "long.csv"
    n = 70_000  # more than one block of rows
    path.write_text("".join(f"{i},{i % 3}\n" for i in range(n)))
    x, y = read_csv(path)
    np.testing.assert_array_equal(x[:, 0], np.arange(n))
    np.testing.assert_array_equal(y, np.arange(n) % 3)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_libsvm_is_read_through_its_compression(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    path.write_bytes(COMPRESS[suffix](LIBSVM))
    x, y = read_libsvm(path, n_features=4)
    np.testing.assert_array_equal(x.toarray(), [[0, 0.5, 0, 0], [1, 0, -2.5, 0]])
    np.testing.assert_array_equal(y, [-1, 1])


@pytest.mark.parametrize("shape", [(5,), (4, 3, 2)])
def test_idx_comes_back_as_it_was_written(tmp_path, shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    path = tmp_path / "array.gz"
    path.write_bytes(gzip.compress(write_idx(array)))
    np.testing.assert_array_equal(read_idx(path), array)


def test_idx_of_other_types_is_big_endian(tmp_path):
    path = tmp_path / "array"
    path.write_bytes(struct.pack(">HBBI3i", 0, 0x0C, 1, 3, -1, 0, 70_000))
    np.testing.assert_array_equal(read_idx(path), [-1, 0, 70_000])


def test_only_bytes_are_written_as_idx():
    with pytest.raises(ValueError, match="uint8"):
        write_idx(np.zeros(3))


@pytest.mark.parametrize(
    ("format", "name", "content", "words"),
    [
        ("csv", "bad.csv", b"1,x,0\n", "cannot be read .csv format.*could not convert"),
        ("csv", "bad.csv", b"", "cannot be read .csv format"),
        ("csv", "bad.csv.gz", gzip.compress(CSV, mtime=0)[:-6], "cannot be read .csv format"),
        ("libsvm", "bad", b"1 2:3 1:x\n", "cannot be read .libsvm format"),
        ("libsvm", "bad", b"1 9:3\n", "cannot be read .libsvm format"),
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
    [(b"<html>", "idx header"), (struct.pack(">HBBI", 0, 8, 1, 5) + b"1234", "promises 13 bytes and it holds 12")],
)
def test_an_idx_file_that_is_none_is_told(tmp_path, content, words):
    path = tmp_path / "array"
    path.write_bytes(content)
    files = tuple(File(part, part) for part in ("train_images", "train_labels"))
    with pytest.raises(DatasetError, match=words):
        read(dataset(format="idx", files=files), dict.fromkeys(("train_images", "train_labels"), path))


def test_a_missing_whole_number_is_told_and_not_made_up(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_bytes(b"1,2,0\n,2,0\n")
    with pytest.raises(DatasetError, match="cannot be read"):
        read(dataset(options={"dtype": "int16"}), {"all": path})


def test_a_size_that_differs_from_the_catalogue_is_told(tmp_path):
    path = tmp_path / "toy.csv"
    path.write_bytes(CSV)
    with pytest.raises(DatasetError, match=r"holds 2 rows, where the catalogue says 80 rows of 2 features"):
        read(dataset(), {"all": path})


def test_an_unknown_format_is_told(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'libsvm'"):
        read(replace(dataset(), format="libsv"), {})


# Blocks


def rows_of(part, rows: int = 3):
    """Return all rows of a part, read in blocks of at most `rows`."""
    blocks = list(part.blocks(rows))
    assert all(0 < len(block.y) <= rows for block in blocks)
    x = [block.x.toarray() if hasattr(block.x, "indptr") else block.x for block in blocks]
    return np.concatenate(x), np.concatenate([block.y for block in blocks])


def entry(n_train: int, n_test: int, d: int, format: str, **changes) -> Dataset:
    """Return an entry whose parts are told by the files that a test hands over."""
    files = tuple(File(part, part) for part in changes.pop("parts"))
    classes = 2 if changes.get("task", "classification") == "classification" else 0
    sizes = {"n_train": n_train, "n_test": n_test, "n_features": d, "n_classes": classes}
    return dataset(files=files, format=format, **(sizes | changes))


def source(tmp_path, contents: dict[str, tuple[str, bytes]], made: Dataset):
    """Write (name, content) of every part and open them."""
    paths = {}
    for part, (name, content) in contents.items():
        paths[part] = tmp_path / name
        paths[part].write_bytes(content)
    return open_source(made, paths)


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


def test_a_zip_of_one_file_is_read_without_unpacking_it(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Year.txt", CSV)
    opened = source(tmp_path, {"all": ("Year.txt.zip", packed.getvalue())}, entry(2, 0, 2, "csv", parts=["all"]))
    np.testing.assert_array_equal(rows_of(opened.train)[0], [[1, -2], [3, 4]])
    assert [path.name for path in tmp_path.iterdir()] == ["Year.txt.zip"]


@pytest.mark.parametrize("name", ["../evil.csv", "/evil.csv", "a/../../evil.csv", "C:evil.csv"])
def test_a_zip_whose_member_would_escape_the_folder_is_refused(tmp_path, name):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, CSV)
    opened = source(tmp_path, {"all": ("a.zip", packed.getvalue())}, entry(2, 0, 2, "csv", parts=["all"]))
    with pytest.raises(DatasetError, match="would escape the folder, which is refused"):
        rows_of(opened.train)


def test_several_files_are_read_one_after_the_other_by_their_numbers(tmp_path):
    contents = {f"train_{n}": (f"part{n}.txt.gz", gzip.compress(b"%d 1  %d\n" % (n, -n))) for n in (10, 9, 1)}
    made = entry(3, 0, 1, "csv", parts=list(contents), options={"separator": " "}, n_targets=2, task="regression")
    x, y = rows_of(source(tmp_path, contents, made).train)
    np.testing.assert_array_equal(x.ravel(), [1, 9, 10])
    np.testing.assert_array_equal(y, [[1, -1], [1, -9], [1, -10]])


ADULT = {
    "train": b"39, State-gov, 77516, <=50K\n50, ?, 83311, >50K\n\n",
    "test": b"|1x3 Cross validator\n25, Private, 226802, >50K.\n\n",
}
ADULT_OPTIONS = {
    "comment": "|",
    "spaces": True,
    "label_end": ".",
    "categories": {"1": ["?", "Private", "State-gov"]},
}


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
    with pytest.raises(DatasetError, match="row 3 has in column 2 a word that the catalogue does not list"):
        rows_of(opened.train, 2)


@pytest.mark.parametrize(("options", "expected"), [({"positive": [2]}, [0, 1, 0]), ({"negative": [2]}, [1, 0, 1])])
def test_some_classes_are_set_against_the_others(tmp_path, options, expected):
    made = entry(3, 0, 1, "csv", parts=["all"], options=options)
    y = rows_of(source(tmp_path, {"all": ("it.csv", b"0,1\n0,2\n0,7\n")}, made).train)[1]
    assert y.tolist() == expected


def test_class_counts_that_differ_from_the_catalogue_are_told(tmp_path):
    made = entry(3, 0, 1, "csv", parts=["all"], class_counts=(1, 2))
    opened = source(tmp_path, {"all": ("it.csv", b"0,1\n0,1\n0,2\n")}, made)
    with pytest.raises(DatasetError, match="has the classes 1: 2, 2: 1, where the catalogue says 1, 2"):
        rows_of(opened.train)


def test_ragged_rows_are_told(tmp_path):
    opened = source(tmp_path, {"all": ("it.csv", b"1,2,0\n1,2,3,0\n")}, entry(2, 0, 2, "csv", parts=["all"]))
    with pytest.raises(DatasetError, match="Expected 3 fields in line 2, saw 4"):
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
        "import sys; from pathlib import Path; from shallows.datasets.formats import libsvm; "
        "from shallows.arrays import peak_memory; import sklearn.datasets; "
        "first = next(libsvm.libsvm_blocks(Path(sys.argv[1]), 784, 1000, 'uint8', True)); before = peak_memory(); "
        "n = sum(len(b.y) for b in libsvm.libsvm_blocks(Path(sys.argv[1]), 784, 1000, 'uint8', True)); "
        "print(n, peak_memory() - before)"
    )
    told = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    n, grown = map(int, told.stdout.split())
    assert n == 10_000
    # The text has 70 MB, and a sparse matrix of it 125 MB: neither may be held at once. Blocks of text have 8 MB.
    assert grown < 40e6


def test_values_that_a_whole_type_cannot_hold_are_told(tmp_path):
    for content in (b"1 1:256\n", b"1 1:0.5\n", b"1 1:-1\n"):
        made = entry(1, 0, 2, "libsvm", parts=["all"], options={"dtype": "uint8", "dense": True})
        with pytest.raises(DatasetError, match="no whole numbers from 0 to 255"):
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


def test_a_topic_that_nobody_has_is_told(tmp_path):
    contents = {"train": ("it", b"1  1:1\n"), "topics": ("topics", b"E11 1 1\n")}
    opened = source(tmp_path, contents, entry(1, 0, 3, "rcv1", parts=list(contents), options={"topic": "CCAT"}))
    with pytest.raises(DatasetError, match=r"topics cannot be read.*gives no document the topic CCAT"):
        rows_of(opened.train)


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


def test_arff_is_read_with_its_words_as_codes_and_its_question_marks_as_missing(tmp_path):
    made = entry(2, 0, 2, "arff", parts=["all"], options={"target": "usr"}, task="regression")
    x, y = rows_of(source(tmp_path, {"all": ("it.arff", ARFF)}, made).train)
    np.testing.assert_array_equal(x, [[1.5, 1], [np.nan, 2]])
    np.testing.assert_array_equal(y, [90, 88])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1,2,3\n", "no ARFF header"),
        (b"@relation x\n@data\n1\n", "no ARFF header"),
        (b"@attribute when date\n@data\n2020\n", "its attribute when is of the kind 'date'"),
    ],
)
def test_an_arff_file_that_cannot_be_read_is_told(tmp_path, content, words):
    made = entry(1, 0, 1, "arff", parts=["all"], options={"target": -1}, task="regression")
    with pytest.raises(DatasetError, match=words):
        rows_of(source(tmp_path, {"all": ("it.arff", content)}, made).train)


def test_molecules_come_as_text(tmp_path):
    content = b"id,SMILES_str,pce,voc\n1,c1ccccc1,3.5,0\n2,C=C,-0.25,0\n"
    options = {"smiles": "SMILES_str", "target": "pce"}
    made = entry(2, 0, 1, "smiles", parts=["all"], options=options, task="regression")
    x, y = rows_of(source(tmp_path, {"all": ("moldata.csv", content)}, made).train)
    assert x.tolist() == [["c1ccccc1"], ["C=C"]]
    np.testing.assert_array_equal(y, [3.5, -0.25])


# CIFAR-10


def cifar_rows(seed: int, n: int = 4) -> np.ndarray:
    rows = np.random.default_rng(seed).integers(0, 256, (n, 3073), np.uint8)
    rows[:, 0] %= 10
    return rows


BATCHES = {
    name: cifar_rows(seed) for seed, name in enumerate(["test_batch", *(f"data_batch_{n}" for n in range(1, 6))])
}


def cifar_file(rows: np.ndarray, python: bool) -> bytes:
    if not python:
        return rows.tobytes()
    content = {b"batch_label": b"a batch", b"labels": rows[:, 0].tolist(), b"data": rows[:, 1:], b"filenames": [b"a"]}
    return pickle.dumps(content, protocol=2)


def tarball(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def cifar_members(python: bool) -> dict[str, bytes]:
    folder, end = ("cifar-10-batches-py", "") if python else ("cifar-10-batches-bin", ".bin")
    # Not in the order of their numbers, as in the real archives.
    names = sorted(BATCHES, reverse=True)
    return {f"{folder}/{name}{end}": cifar_file(BATCHES[name], python) for name in names} | {
        f"{folder}/readme.html": b"<html>"
    }


def assert_is_cifar(opened):
    x, y = rows_of(opened.train)
    together = np.concatenate([BATCHES[f"data_batch_{n}"] for n in range(1, 6)])
    np.testing.assert_array_equal(x, together[:, 1:])
    np.testing.assert_array_equal(y, together[:, 0])
    x_test, y_test = rows_of(opened.test)
    np.testing.assert_array_equal(x_test, BATCHES["test_batch"][:, 1:])
    np.testing.assert_array_equal(y_test, BATCHES["test_batch"][:, 0])


@pytest.mark.parametrize("python", [False, True], ids=["binary", "python"])
def test_cifar_is_read_from_its_archive_in_the_order_of_its_batches(tmp_path, python):
    made = entry(20, 4, 3072, "cifar_python" if python else "cifar_binary", parts=["archive"])
    assert_is_cifar(source(tmp_path, {"archive": ("cifar.tar.gz", tarball(cifar_members(python)))}, made))


@pytest.mark.parametrize("python", [False, True], ids=["binary", "python"])
def test_cifar_is_read_from_its_loose_files(tmp_path, python):
    contents = {
        "test" if name == "test_batch" else f"train_{name[-1]}": (name, cifar_file(rows, python))
        for name, rows in BATCHES.items()
    }
    made = entry(20, 4, 3072, "cifar_python" if python else "cifar_binary", parts=list(contents))
    assert_is_cifar(source(tmp_path, contents, made))


@pytest.mark.parametrize("python", [False, True], ids=["binary", "python"])
def test_an_archive_whose_member_would_escape_the_folder_is_refused(tmp_path, python):
    made = entry(20, 4, 3072, "cifar_python" if python else "cifar_binary", parts=["archive"])
    for name in ("../../evil", "/etc/evil"):
        packed = tarball(cifar_members(python) | {name: b"evil"})
        with pytest.raises(DatasetError, match=r"evil' would escape the folder, which is refused"):
            rows_of(source(tmp_path, {"archive": ("cifar.tar.gz", packed)}, made).train)


def test_an_archive_that_holds_a_link_is_refused(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("data_batch_1.bin")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    made = entry(20, 4, 3072, "cifar_binary", parts=["archive"])
    with pytest.raises(DatasetError, match="is a link or a device, which is refused"):
        rows_of(source(tmp_path, {"archive": ("cifar.tar.gz", packed.getvalue())}, made).train)


def test_an_archive_without_a_batch_is_told(tmp_path):
    members = cifar_members(False)
    del members["cifar-10-batches-bin/data_batch_3.bin"]
    made = entry(20, 4, 3072, "cifar_binary", parts=["archive"])
    with pytest.raises(DatasetError, match=r"lacks the file data_batch_3\.bin"):
        rows_of(source(tmp_path, {"archive": ("cifar.tar.gz", tarball(members))}, made).train)


class Evil:
    def __reduce__(self):
        return (os.mkdir, (Evil.place,))


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "in an array of objects"])
def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path, hidden):
    Evil.place = str(tmp_path / "was here")
    evil = np.array([Evil()], dtype=object) if hidden else Evil()
    content = pickle.dumps({b"data": evil, b"labels": [0]}, protocol=2)
    made = entry(1, 0, 3072, "cifar_python", parts=["train_1"])
    with pytest.raises(DatasetError, match=r"no code is run|not of numbers"):
        rows_of(source(tmp_path, {"train_1": ("data_batch_1", content)}, made).train)
    assert not (tmp_path / "was here").exists()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps([1, 2]),
        pickle.dumps({b"data": np.zeros((1, 5), np.uint8), b"labels": [0]}),
        b"no pickle",
        b"\x80\x02.",
    ],
)
def test_a_pickle_that_holds_no_images_is_told(tmp_path, content):
    made = entry(1, 0, 3072, "cifar_python", parts=["train_1"])
    with pytest.raises(DatasetError, match=r"cannot be read .cifar_python format"):
        rows_of(source(tmp_path, {"train_1": ("data_batch_1", content)}, made).train)


def test_a_batch_that_ends_within_an_image_is_told(tmp_path):
    content = {"train_1": ("data_batch_1.bin", BATCHES["data_batch_1"].tobytes()[:-1])}
    with pytest.raises(DatasetError, match="does not end with a whole image"):
        rows_of(source(tmp_path, content, entry(4, 0, 3072, "cifar_binary", parts=["train_1"])).train)


# MATLAB


def matlab(**arrays) -> bytes:
    packed = io.BytesIO()
    scipy.io.savemat(packed, arrays, do_compression=True)
    return packed.getvalue()


def test_svhn_becomes_rows_of_red_green_and_blue(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 5), np.uint8)
    y = np.array([[1], [10], [3], [2], [10]], np.uint8)
    contents = {part: (f"{part}_32x32.mat", matlab(X=x, y=y)) for part in ("train", "test")}
    found, labels = rows_of(source(tmp_path, contents, entry(5, 5, 3072, "svhn", parts=list(contents))).train)
    # Image 4, colour 1 (green), row 7, column 30.
    assert found[4].reshape(3, 32, 32)[1, 7, 30] == x[7, 30, 1, 4]
    np.testing.assert_array_equal(found.reshape(5, 3, 32, 32), np.moveaxis(x, (3, 2), (0, 1)))
    assert labels.tolist() == [1, 10, 3, 2, 10]


def test_qm7_is_split_by_its_own_folds(tmp_path):
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((10, 23, 23)).astype(np.float32), np.arange(10, dtype=np.float32)[None] - 500
    folds = rng.permutation(10).reshape(5, 2)
    content = matlab(X=x, T=t, P=folds, Z=np.zeros((10, 23)))
    made = entry(8, 2, 529, "qm7", parts=["data"], options={"fold": 3}, task="regression")
    opened = source(tmp_path, {"data": ("qm7.mat", content)}, made)
    rows, energies = rows_of(opened.test)
    np.testing.assert_array_equal(energies, t[0, np.sort(folds[3])])
    np.testing.assert_array_equal(rows, x[np.sort(folds[3])].reshape(2, 529))
    assert set(rows_of(opened.train)[1]) | set(energies) == set(t[0])


def test_a_matrix_has_its_targets_in_its_last_columns(tmp_path):
    table = np.arange(28.0 * 4).reshape(4, 28)
    contents = {"train": ("a.mat", matlab(sarcos_inv=table)), "test": ("b.mat", matlab(sarcos_inv_test=table[:2]))}
    made = entry(4, 2, 21, "sarcos", parts=list(contents), n_targets=7, task="regression")
    x, y = rows_of(source(tmp_path, contents, made).train)
    np.testing.assert_array_equal(x, table[:, :21])
    np.testing.assert_array_equal(y, table[:, 21:])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(200), "version 7.3; save it with -v7"),
        (b"<html>no such file</html>" * 20, "no MATLAB file|cannot be read"),
        (matlab(X=np.zeros((32, 32, 3, 2), np.uint8)), "holds no variable y"),
        (matlab(X=np.zeros((5, 2)), y=np.zeros((2, 1))), "its X has the shape"),
    ],
    ids=["7.3", "page", "no y", "shape"],
)
def test_a_matlab_file_that_cannot_be_read_is_told(tmp_path, content, words):
    with pytest.raises(DatasetError, match=words):
        rows_of(source(tmp_path, {"train": ("a.mat", content)}, entry(2, 0, 3072, "svhn", parts=["train"])).train)


def test_files_that_are_of_no_form_of_the_dataset_are_told(tmp_path):
    with pytest.raises(DatasetError, match="are not whole: there are train, and train, test are needed"):
        source(tmp_path, {"train": ("a", b"")}, entry(2, 1, 2, "csv", parts=["train", "test"]))


# The real files, where they are at hand


@needs_mirror
@pytest.mark.parametrize(
    ("name", "n", "n_test", "d"),
    [
        ("mnist", 60_000, 10_000, 784),
        ("a9a", 32_561, 16_281, 123),
        ("adult_uci", 32_561, 16_281, 14),
        ("covtype", 581_012, 0, 54),
        ("covtype_binary", 581_012, 0, 54),
        ("cov1", 581_012, 0, 54),
        ("kddcup99_tenth", 494_021, 0, 41),
        ("ijcnn1", 49_990, 91_701, 22),
        ("usps", 7291, 2007, 256),
        ("reuters", 7770, 3299, 8315),
        ("cpu_act", 8192, 0, 21),
        ("census_house", 22_784, 0, 8),
        ("census_house_16h", 22_784, 0, 16),
        ("qm7", 5732, 1433, 529),
        ("cep", 29_978, 0, 1),
        ("higgs_sample", 7000, 500, 28),
        ("sarcos_small", 4449, 0, 21),
    ],
)
def test_a_real_file_is_read_as_the_catalogue_describes_it(tmp_path, name, n, n_test, d):
    made = get(name)
    folders = [MIRROR / folder for folder in (name, *made.mirror_folders)]
    folder = next(folder for folder in folders if folder.is_dir())
    raw = read(made, {file.part: folder / file.name for file in made.files})
    assert (raw.x_train.shape, raw.x_test.shape) == ((n, d), (n_test, d))
    assert raw.y_train.shape == ((n, 7) if made.n_targets == 7 else (n,))
    values = raw.x_train.data if hasattr(raw.x_train, "indptr") else raw.x_train
    assert values.dtype == object or np.isfinite(values).all()


@needs_mirror
def test_the_real_adult_rows_with_unknown_values_are_kept(tmp_path):
    raw = read(
        get("adult_uci"),
        {part: MIRROR / "adult" / f"adult.{end}" for part, end in (("train", "data"), ("test", "test"))},
    )
    # As counted by others: 2,399 training and 1,221 test rows hold a "?", whose code is 0 in these three columns.
    assert [int((x[:, [1, 6, 13]] == 0).any(axis=1).sum()) for x in (raw.x_train, raw.x_test)] == [2399, 1221]


def test_a_file_of_the_form_of_mnist8m_is_converted_to_npy_as_a_stream(tmp_path):
    text, x, y = mnist8m_like(300)
    contents = {"mnist8m.xz": lzma.compress(text), "test": write_idx(x[:9].astype(np.uint8))}
    contents["labels"] = write_idx(y[:9].astype(np.uint8))
    parts = {"mnist8m.xz": "train", "test": "test_images", "labels": "test_labels"}
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    files = []
    for name, content in contents.items():
        (tmp_path / "mirror" / "toy" / name).write_bytes(content)
        files.append(File(name, parts[name], md5=hashlib.md5(content).hexdigest()))
    sizes = {"n_train": 300, "n_test": 9, "n_features": 20, "n_classes": 10, "value_range": (0, 255)}
    made = dataset(files=tuple(files), format="libsvm", options={"dtype": "uint8", "dense": True}, **sizes)
    stamp = fetch(made, tmp_path / "raw", tmp_path / "mirror")
    prepare(made, stamp, tmp_path / "out", [{"unit": {}}])
    prepared = load(tmp_path / "out")
    np.testing.assert_array_equal(prepared.x_train, (x / 255).astype(np.float32))
    np.testing.assert_array_equal(prepared.y_train, y)
    np.testing.assert_array_equal(prepared.x_test, (x[:9] / 255).astype(np.float32))


def test_a_range_or_a_comment_behind_a_type_of_arff_is_passed_over(tmp_path):
    header = b"@attribute a real [0,1] % a share\n@attribute b {x, y} % two words\n@attribute c integer % [1]\n"
    content = header + b"@data\n1,y,3\n"
    made = entry(1, 0, 2, "arff", parts=["all"], options={"target": "c"}, task="regression")
    x, y = rows_of(source(tmp_path, {"all": ("it.arff", content)}, made).train)
    np.testing.assert_array_equal(x, [[1, 1]])
    assert y.tolist() == [3]
