"""Checksums of files, and trust on first use where none was published."""

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import shutil
import warnings
from pathlib import Path

import pytest

from datasets_example import CONTENT, dataset, left_in, server_without_pauses, sha256
from shallows_papers import datasets
from shallows_papers.datasets import DatasetError, DatasetWarning, File
from shallows_papers.datasets.download import verification


@pytest.fixture
def server(monkeypatch):
    yield from server_without_pauses(monkeypatch)


# Checksums


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


@pytest.mark.parametrize("kind", [sha256, md5, git_sha1])
def test_every_kind_of_checksum_is_held_against_a_file(tmp_path, kind):
    file = File("toy.csv", "all", **{kind.__name__: kind(CONTENT)})
    path = tmp_path / "toy.csv"
    path.write_bytes(CONTENT)
    assert verification.verify(path, file) == (None, sha256(CONTENT))
    path.write_bytes(CONTENT.replace(b"2.5", b"2.6"))
    assert "its content is altered" in verification.verify(path, file)[0]


def test_another_container_of_the_same_content_is_the_same_data(tmp_path):
    fast, small = gzip.compress(CONTENT, 1, mtime=1), gzip.compress(CONTENT, 9, mtime=2)
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    (tmp_path / "mirror" / "toy" / "toy.csv.gz").write_bytes(fast)
    file = File("toy.csv.gz", "all", size=len(small), sha256=sha256(small), content_sha256=sha256(CONTENT))
    stamp = datasets.fetch(dataset(files=(file,)), tmp_path / "raw", tmp_path / "mirror")
    assert json.loads(stamp.read_text())["files"][0]["sha256"] == sha256(fast)
    (tmp_path / "raw" / "toy" / "toy.csv.gz").write_bytes(fast[:-4])
    shutil.rmtree(tmp_path / "mirror")
    with pytest.warns(DatasetWarning, match="was there, but"), pytest.raises(DatasetError):
        datasets.fetch(dataset(files=(file,)), tmp_path / "raw")


# Trust on first use


def unpublished(*urls: str, name: str = "toy.csv", **changes):
    return dataset(files=(File(name, "all", tuple(urls)),), **changes)


def test_a_file_without_a_checksum_is_pinned_at_its_first_download_and_the_user_is_warned_once(server, tmp_path):
    url = server.says("/toy.csv", CONTENT)
    with pytest.warns(DatasetWarning, match=r"No checksum is published for toy\.csv.*checksums\.lock\.json"):
        datasets.fetch(unpublished(url), tmp_path)
    pinned = json.loads((tmp_path / "checksums.lock.json").read_text())["files"]["toy/toy.csv"]
    assert (pinned["sha256"], pinned["size"], pinned["source"]) == (sha256(CONTENT), len(CONTENT), url)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        datasets.fetch(unpublished(url), tmp_path)


def test_a_later_file_that_differs_from_the_pinned_one_is_refused(server, tmp_path):
    toy = unpublished(server.says("/toy.csv", CONTENT, CONTENT.replace(b"2.5", b"2.6")))
    with pytest.warns(DatasetWarning, match="No checksum is published"):
        datasets.fetch(toy, tmp_path)
    (tmp_path / "toy" / "toy.csv").unlink()
    with pytest.raises(DatasetError, match=r"compared with the first copy.*remove its entry from .*checksums\.lock"):
        datasets.fetch(toy, tmp_path)
    assert not (tmp_path / "toy" / "toy.csv").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("toy.csv.gz", gzip.compress(CONTENT)[:-9], "cannot be decompressed to its end"),
        ("toy.csv", b"1,2,3,4,0\n" * 9, "its rows have 4 features instead of 2"),
        ("toy.csv", b"a,b,c\nd,e,f\n", "its first rows cannot be read"),
        ("toy.csv", b"", "it is empty"),
        ("toy.csv", b"<html>Sign in</html>", "an HTML page"),
    ],
    ids=["cut off", "too wide", "text", "empty", "page"],
)
def test_a_first_download_that_cannot_be_read_is_not_trusted(server, tmp_path, name, content, words):
    with pytest.raises(DatasetError, match=words):
        datasets.fetch(unpublished(server.says("/it", content), name=name), tmp_path)
    assert not (tmp_path / "checksums.lock.json").exists()
    assert left_in(tmp_path / "toy") == set()


def _pin_in_process(root: Path, number: int, barrier) -> None:
    barrier.wait(timeout=60)
    verification.pin(root, f"set{number}", "file", "0" * 64, 1, "here")


def test_processes_that_pin_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [context.Process(target=_pin_in_process, args=(tmp_path, number, barrier)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert all(verification.pinned(tmp_path, f"set{number}", "file") for number in range(3))
