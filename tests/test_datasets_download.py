"""The downloader: what it takes, what it refuses, and that nothing half-written ever bears a final name."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from datasets_example import CONTENT, dataset, left_in, mirror_with, server_without_pauses, serving, sha256
from shallows_papers import datasets
from shallows_papers.datasets import DatasetError, DatasetWarning, File
from shallows_papers.datasets.catalogue import Form
from shallows_papers.datasets.download import addresses


@pytest.fixture
def server(monkeypatch):
    yield from server_without_pauses(monkeypatch)


# What goes well


def test_a_file_is_downloaded_verified_and_recorded(server, tmp_path):
    stamp = datasets.fetch(dataset(server.says("/toy.csv", CONTENT)), tmp_path)
    assert stamp == tmp_path / "toy" / "verified.json"
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert json.loads(stamp.read_text()) == {
        "dataset": "toy",
        "files": [
            {"name": "toy.csv", "part": "all", "path": "toy.csv", "size": len(CONTENT), "sha256": sha256(CONTENT)}
        ],
    }
    assert left_in(tmp_path / "toy") == {"toy.csv", "verified.json"}


def test_a_file_that_is_there_and_right_is_not_fetched_again(server, tmp_path):
    toy = dataset(server.says("/toy.csv", CONTENT))
    datasets.fetch(toy, tmp_path)
    datasets.fetch(toy, tmp_path)
    assert server.asked == ["/toy.csv"]


def test_a_file_that_is_there_but_altered_is_moved_aside_and_fetched_again(server, tmp_path):
    toy = dataset(server.says("/toy.csv", CONTENT))
    datasets.fetch(toy, tmp_path)
    (tmp_path / "toy" / "toy.csv").write_bytes(CONTENT.replace(b"2.5", b"2.6"))
    with pytest.warns(DatasetWarning, match=r"toy\.csv was there, but its content is altered.*toy\.csv\.refused"):
        datasets.fetch(toy, tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert b"2.6" in (tmp_path / "toy" / "toy.csv.refused").read_bytes()


def test_the_second_address_serves_when_the_first_one_fails(server, tmp_path):
    datasets.fetch(dataset(server.url + "/absent", server.says("/toy.csv", CONTENT)), tmp_path)
    assert server.asked == ["/absent", "/toy.csv"]


def test_a_failure_that_may_pass_is_tried_again(server, tmp_path, capsys):
    datasets.fetch(dataset(server.says("/toy.csv", 500, 503, CONTENT)), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert len(server.asked) == 3
    assert "HTTP 500" in capsys.readouterr().err


# Mirrors


def test_a_mirror_is_tried_before_the_addresses_and_an_argument_before_the_environment(server, tmp_path, monkeypatch):
    toy, folder = dataset(server.url + "/toy.csv"), mirror_with(tmp_path / "mirror", CONTENT)
    datasets.fetch(toy, tmp_path / "of a folder", folder)
    monkeypatch.setenv(addresses.MIRROR_VARIABLE, str(folder))
    datasets.fetch(toy, tmp_path / "of the environment")
    assert server.asked == []
    server.says("/mirror/toy/toy.csv", CONTENT)
    datasets.fetch(toy, tmp_path / "of a URL", server.url + "/mirror/")
    datasets.fetch(toy, tmp_path / "of both", server.url + "/empty")
    assert server.asked == ["/mirror/toy/toy.csv", "/empty/toy/toy.csv"]


def test_a_mirror_with_a_wrong_file_is_named_and_passed_over(server, tmp_path):
    mirror = mirror_with(tmp_path / "mirror", CONTENT[:-7])
    with pytest.warns(DatasetWarning, match=r"mirror .*mirror.toy.toy\.csv was skipped: it is truncated"):
        datasets.fetch(dataset(server.says("/toy.csv", CONTENT)), tmp_path / "raw", mirror)
    assert (tmp_path / "raw" / "toy" / "toy.csv").read_bytes() == CONTENT


# What goes wrong


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (CONTENT[:-10], r"it is truncated: 790 of 800 bytes"),
        ((200, CONTENT[:-10], len(CONTENT)), r"the connection broke off before the end \(3 tries\)"),
        (CONTENT + b"1", r"it has 801 bytes instead of 800"),
        (b"<!DOCTYPE html><title>Please log in</title>", r"an HTML page, not the data"),
        (404, r"HTTP 404 Not Found"),
        (500, r"HTTP 500 Internal Server Error \(3 tries\)"),
    ],
    ids=["truncated", "broken off", "too long", "a page", "404", "500"],
)
def test_a_wrong_answer_is_told_and_leaves_nothing(server, tmp_path, answer, words):
    with pytest.raises(DatasetError, match=words):
        datasets.fetch(dataset(server.says("/toy.csv", answer)), tmp_path)
    assert left_in(tmp_path / "toy") == set()


def test_the_error_names_dataset_file_every_source_and_what_to_do(server, tmp_path):
    toy = dataset(server.url + "/one", server.says("/two", b"<html>"))
    with pytest.raises(DatasetError) as told:
        datasets.fetch(toy, tmp_path, tmp_path / "nowhere")
    for words in (
        "toy.csv of the dataset 'toy'",
        f"{server.url}/one: HTTP 404",
        f"{server.url}/two: it is an HTML page",
        "nowhere: there is no such folder",
        "SHALLOWS_MIRROR",
        f"put the file at {tmp_path / 'toy' / 'toy.csv'} yourself",
        sha256(CONTENT),
        "https://example.org/toy",
    ):
        assert words in str(told.value)


def test_no_network_is_told(server, tmp_path):
    with serving() as gone:
        url = gone.url
    with pytest.raises(DatasetError, match=r"no connection \(.*refused\) \(3 tries\)"):
        datasets.fetch(dataset(url + "/toy.csv"), tmp_path)
    assert left_in(tmp_path / "toy") == set()


def test_what_a_killed_process_left_is_removed(server, tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / ".toy.csv.123-abc.part").write_bytes(CONTENT[:100])
    datasets.fetch(dataset(server.says("/toy.csv", CONTENT)), tmp_path)
    assert left_in(tmp_path / "toy") == {"toy.csv", "verified.json"}


def _fetch_in_process(url: str, root: Path, barrier) -> None:
    barrier.wait(timeout=60)
    datasets.fetch(dataset(url), root, progress=False)


def test_two_processes_that_fetch_at_once_download_once(server, tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    url = server.says("/toy.csv", CONTENT)
    workers = [context.Process(target=_fetch_in_process, args=(url, tmp_path, barrier)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert server.asked == ["/toy.csv"]
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


# Compression on the wire


def encoded(content: bytes):
    """Return an answer that is compressed on the wire without a request."""

    def answer(handler):
        body = gzip.compress(content)
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def test_a_file_that_was_compressed_on_the_wire_is_decompressed(server, tmp_path):
    datasets.fetch(dataset(server.says("/toy.csv", encoded(CONTENT))), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


def test_a_compressed_file_stays_so_when_the_server_calls_it_an_encoding(server, tmp_path):
    file = File("toy.csv.gz", "all", (server.says("/toy.csv.gz", encoded(CONTENT)),), content_sha256=sha256(CONTENT))
    datasets.fetch(dataset(files=(file,)), tmp_path)
    assert gzip.decompress((tmp_path / "toy" / "toy.csv.gz").read_bytes()) == CONTENT


# Several forms of the same data


def two_forms(*urls: str):
    loose = Form((File("one.csv", "all_1", sha256=sha256(CONTENT[:400])), File("two.csv", "all_2")), "csv")
    return replace(dataset(*urls), forms=(loose,))


def test_another_form_that_is_at_hand_serves(server, tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "one.csv").write_bytes(CONTENT[:400])
    (tmp_path / "toy" / "two.csv").write_bytes(CONTENT[400:])
    with pytest.warns(DatasetWarning, match=r"No checksum is published for two\.csv"):
        stamp = datasets.fetch(two_forms(server.says("/toy.csv", CONTENT)), tmp_path)
    assert [file["part"] for file in json.loads(stamp.read_text())["files"]] == ["all_1", "all_2"]
    assert server.asked == []


# Embedded and real files


def test_an_embedded_dataset_is_verified_where_it_lies(tmp_path):
    stamp = datasets.fetch("a9a_demo", tmp_path)
    content = json.loads(stamp.read_text())
    assert [file["name"] for file in content["files"]] == ["a9a.gz", "a9a.t.gz"]
    assert all((stamp.parent / file["path"]).is_file() for file in content["files"])
    assert left_in(stamp.parent) == {"verified.json"}


def test_an_embedded_dataset_that_was_altered_is_refused(tmp_path):
    clone = Path(__file__).parents[1] / "data" / "embedded" / "a9a_demo"
    shutil.copytree(clone, tmp_path / "a9a_demo")
    (tmp_path / "a9a_demo" / "a9a.gz").write_bytes(b"something else")
    with pytest.raises(DatasetError, match="git checkout -- data/embedded"):
        datasets.fetch("a9a_demo", tmp_path / "raw", embedded_root=tmp_path)
    (tmp_path / "a9a_demo" / "a9a.gz").unlink()
    with pytest.raises(DatasetError, match="is missing"):
        datasets.fetch("a9a_demo", tmp_path / "raw", embedded_root=tmp_path)
    assert not (tmp_path / "raw" / "a9a_demo" / "verified.json").exists()
