"""The downloader: what it takes, what it refuses, and that nothing half-written ever bears a final name."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from datasets_example import CONTENT, MIRROR, dataset, needs_mirror, serving, sha256
from shallows import datasets
from shallows.datasets import DatasetError, DatasetWarning, File
from shallows.datasets.catalogue import Form
from shallows.datasets.download import addresses, checksum_lock, http_transfer, verification
from shallows.errors import UnknownNameError


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(http_transfer, "RETRIES", http_transfer.RETRIES.new(backoff_factor=0))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(addresses.MIRROR_VARIABLE, raising=False)
    with serving() as server:
        yield server


def left_in(folder: Path) -> set[str]:
    """Return the names of all files in a folder but the lock."""
    return {path.name for path in folder.iterdir()} - {".lock"}


def mirror_with(folder: Path, content: bytes, name: str = "toy") -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "toy.csv").write_bytes(content)
    return folder


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


def test_a_failure_that_will_not_pass_is_not_tried_again(server, tmp_path):
    with pytest.raises(DatasetError, match="HTTP 404"):
        datasets.fetch(dataset(server.url + "/absent"), tmp_path)
    assert server.asked == ["/absent"]


def test_a_download_tells_of_itself_in_plain_lines_where_there_is_no_terminal(server, tmp_path, capsys):
    datasets.fetch(dataset(server.says("/toy.csv", CONTENT)), tmp_path)
    told = capsys.readouterr().err
    assert "toy: toy.csv: fetching from 127.0.0.1" in told
    assert "MB fetched" in told
    assert "\r" not in told


def test_a_download_draws_a_bar_on_a_terminal(server, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    datasets.fetch(dataset(server.says("/toy.csv", CONTENT)), tmp_path)
    assert "\r" in sys.stderr.getvalue()
    assert "toy: toy.csv: 100%" in sys.stderr.getvalue()


def test_a_download_is_silent_when_asked(server, tmp_path, capsys):
    datasets.fetch(dataset(server.says("/toy.csv", 500, CONTENT)), tmp_path, progress=False)
    assert capsys.readouterr().err == ""


# Mirrors


def test_a_mirror_folder_is_tried_before_the_addresses(server, tmp_path):
    mirror = mirror_with(tmp_path / "mirror", CONTENT)
    datasets.fetch(dataset(server.url + "/toy.csv"), tmp_path / "raw", mirror)
    assert server.asked == []


def test_a_mirror_url_is_tried_before_the_addresses(server, tmp_path):
    server.says("/mirror/toy/toy.csv", CONTENT)
    datasets.fetch(dataset(server.url + "/toy.csv"), tmp_path, server.url + "/mirror/")
    assert server.asked == ["/mirror/toy/toy.csv"]


def test_a_mirror_may_be_named_in_the_environment_and_an_argument_goes_first(server, tmp_path, monkeypatch):
    monkeypatch.setenv(addresses.MIRROR_VARIABLE, str(mirror_with(tmp_path / "mirror", CONTENT)))
    datasets.fetch(dataset(), tmp_path / "raw", server.url + "/empty")
    assert server.asked == ["/empty/toy/toy.csv"]


def test_a_mirror_may_keep_the_files_under_another_folder_name(tmp_path):
    mirror = mirror_with(tmp_path / "mirror", CONTENT, name="plaything")
    datasets.fetch(dataset(mirror_folders=("plaything",)), tmp_path / "raw", mirror.as_uri())


def test_a_mirror_with_a_wrong_file_is_named_and_passed_over(server, tmp_path):
    mirror = mirror_with(tmp_path / "mirror", CONTENT[:-7])
    with pytest.warns(DatasetWarning, match=r"mirror .*mirror.toy.toy\.csv was passed over: it is truncated"):
        datasets.fetch(dataset(server.says("/toy.csv", CONTENT)), tmp_path / "raw", mirror)
    assert (tmp_path / "raw" / "toy" / "toy.csv").read_bytes() == CONTENT


# What goes wrong


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (CONTENT[:-10], r"it is truncated: 790 of 800 bytes"),
        ((200, CONTENT[:-10], len(CONTENT)), r"the connection broke off before the end \(3 tries\)"),
        (CONTENT.replace(b"2.5", b"2.6"), r"its content is altered"),
        (CONTENT + b"1", r"it has 801 bytes instead of 800"),
        (b"<!DOCTYPE html><title>Please log in</title>", r"an HTML page, not the data"),
        (404, r"HTTP 404 Not Found"),
        (500, r"HTTP 500 Internal Server Error \(3 tries\)"),
    ],
    ids=["truncated", "broken off", "altered", "too long", "a page", "404", "500"],
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


def test_an_address_that_is_none_is_told(server, tmp_path):
    with pytest.raises(DatasetError, match="not an address"):
        datasets.fetch(dataset("gopher://example.org/toy.csv"), tmp_path)


def test_an_unknown_name_gets_the_nearest_one(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'mnist'"):
        datasets.fetch("mnits", tmp_path)


class _FullDisk(io.FileIO):
    def write(self, data):
        if self.tell() + len(data) > 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


@pytest.mark.parametrize("source", ["mirror", "address"])
def test_a_full_disk_is_told_and_leaves_nothing(server, tmp_path, monkeypatch, source):
    mirror = mirror_with(tmp_path / "mirror", CONTENT)
    genuine = open

    def full(path, mode="r", *rest, **options):
        if "w" in mode and ".part" in str(path):
            return _FullDisk(path, "w")
        return genuine(path, mode, *rest, **options)

    monkeypatch.setattr("builtins.open", full)
    toy = dataset(server.says("/toy.csv", CONTENT))
    with pytest.raises(DatasetError, match=r"toy\.csv could not be written: no space left on device.*Make room in"):
        datasets.fetch(toy, tmp_path / "raw", mirror if source == "mirror" else None)
    assert left_in(tmp_path / "raw" / "toy") == set()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of a file, which other systems do by a signal")
def test_a_file_system_that_takes_no_more_is_told(tmp_path):
    # The same through the real system call, in a process that may write only 100 bytes to a file.
    mirror = mirror_with(tmp_path / "mirror", CONTENT)
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); from datasets_example import dataset; "
        "from shallows import datasets; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
        "datasets.fetch(dataset(), sys.argv[2], sys.argv[3])"
    )
    tests = str(Path(__file__).parent)
    command = [sys.executable, "-B", "-c", code, tests, str(tmp_path / "raw"), str(mirror)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "DatasetError" in told.stderr
    assert "could not be written: file too large" in told.stderr
    assert left_in(tmp_path / "raw" / "toy") == set()


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


# A connection that fails in the middle


def stops_after(n: int, content: bytes = CONTENT, **headers: str):
    """Return an answer that states the whole length and hangs up after `n` bytes."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content[:n])

    return answer


def goes_on(content: bytes = CONTENT, n: int | None = None, etag: str = '"one"'):
    """Return an answer that gives the range asked for, at most `n` bytes of it, if the file is still that of `etag`."""

    def answer(handler):
        asked = handler.headers.get("Range")
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0
        if handler.headers.get("If-Range") != etag:
            start = 0
        handler.send_response(206 if start else 200)
        handler.send_header("ETag", etag)
        handler.send_header("Content-Length", str(len(content) - start))
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.end_headers()
        handler.wfile.write(content[start : None if n is None else start + n])

    return answer


def test_a_download_that_stops_in_the_middle_goes_on_from_there(server, tmp_path, capsys):
    url = server.says("/toy.csv", stops_after(300, ETag='"one"'), goes_on())
    datasets.fetch(dataset(url), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=300-"]
    assert "the connection broke off before the end; trying again from byte 300" in capsys.readouterr().err


def test_as_long_as_each_try_brings_it_further_there_is_no_end_of_tries(server, tmp_path):
    datasets.fetch(dataset(server.says("/toy.csv", goes_on(n=100))), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert server.ranges == [None, *(f"bytes={n}-" for n in range(100, 800, 100))]


def test_a_server_that_cannot_go_on_is_asked_from_the_beginning(server, tmp_path):
    datasets.fetch(dataset(server.says("/toy.csv", stops_after(300), CONTENT)), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert server.ranges == [None, None]


def test_a_file_that_changed_meanwhile_is_not_mixed_with_the_old_one(server, tmp_path):
    older = CONTENT.replace(b"2.5", b"2.6")
    url = server.says("/toy.csv", stops_after(500, older, ETag='"zero"'), goes_on(etag='"one"'))
    datasets.fetch(dataset(url), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=500-"]


def test_a_server_that_goes_on_at_the_wrong_place_is_asked_from_the_beginning(server, tmp_path):
    def astray(handler):
        handler.send_response(206)
        handler.send_header("Content-Range", "bytes 500-799/800")
        handler.send_header("Content-Length", "300")
        handler.end_headers()
        handler.wfile.write(CONTENT[500:])

    datasets.fetch(dataset(server.says("/toy.csv", stops_after(300, ETag='"one"'), astray, CONTENT)), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


@pytest.mark.slow
def test_a_slow_server_is_waited_for(server, tmp_path, monkeypatch):
    monkeypatch.setattr(http_transfer, "TIMEOUTS", (1.0, 1.0))

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        for start in range(0, len(CONTENT), 100):  # longer than the limit in all, and never without a byte for as long
            time.sleep(0.2)
            handler.wfile.write(CONTENT[start : start + 100])
            handler.wfile.flush()

    datasets.fetch(dataset(server.says("/toy.csv", slow)), tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


def test_a_server_that_falls_silent_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr(http_transfer, "TIMEOUTS", (0.2, 0.2))
    over = threading.Event()

    def silent(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:50])
        handler.wfile.flush()
        over.wait(20)

    try:
        with pytest.raises(DatasetError, match=r"no answer in time \(3 tries\)"):
            datasets.fetch(dataset(server.says("/toy.csv", silent)), tmp_path)
    finally:
        over.set()
    assert left_in(tmp_path / "toy") == set()


def encoded(content: bytes):
    """Return an answer that is compressed on the wire, though nobody asked for it."""

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


def test_a_download_that_was_compressed_anew_is_refused_by_its_checksum(server, tmp_path):
    genuine, anew = gzip.compress(CONTENT, 9, mtime=1), gzip.compress(CONTENT, 1, mtime=2)
    file = File("toy.csv.gz", "all", (server.says("/toy.csv.gz", anew),), sha256=sha256(genuine))
    with pytest.raises(DatasetError, match="its content is altered"):
        datasets.fetch(dataset(files=(file,)), tmp_path)


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


def test_the_name_that_git_gives_to_a_file_is_the_known_one(tmp_path):
    # What `echo hello | git hash-object --stdin` prints.
    (tmp_path / "hello").write_bytes(b"hello\n")
    file = File("hello", "all", git_sha1="ce013625030ba8dba906f756967f9e9ca394464a")
    assert verification.verify(tmp_path / "hello", file)[0] is None


def test_one_wrong_checksum_of_two_is_enough_to_refuse(tmp_path):
    (tmp_path / "toy.csv").write_bytes(CONTENT)
    file = File("toy.csv", "all", sha256=sha256(CONTENT), md5="0" * 32)
    assert "md5 checksum" in verification.verify(tmp_path / "toy.csv", file)[0]


def test_a_known_copy_is_taken_and_told(tmp_path):
    copy = CONTENT.replace(b"2.5", b"2.50000001")
    file = replace(dataset().files[0], size=None, accepted={sha256(copy): "rounded elsewhere"})
    with pytest.warns(DatasetWarning, match="a known copy of it: rounded elsewhere"):
        stamp = datasets.fetch(dataset(files=(file,)), tmp_path / "raw", mirror_with(tmp_path / "mirror", copy))
    assert json.loads(stamp.read_text())["files"][0]["note"] == "rounded elsewhere"


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


def test_a_file_without_a_checksum_is_pinned_at_its_first_download_and_it_is_told(server, tmp_path):
    url = server.says("/toy.csv", CONTENT)
    with pytest.warns(DatasetWarning, match=r"Nobody published a checksum of toy\.csv.*checksums\.lock\.json"):
        datasets.fetch(unpublished(url), tmp_path)
    pinned = json.loads((tmp_path / "checksums.lock.json").read_text())["files"]["toy/toy.csv"]
    assert (pinned["sha256"], pinned["size"], pinned["source"]) == (sha256(CONTENT), len(CONTENT), url)


def test_a_pinned_file_that_is_there_is_taken_in_silence(server, tmp_path):
    toy = unpublished(server.says("/toy.csv", CONTENT))
    with pytest.warns(DatasetWarning, match="Nobody published"):
        datasets.fetch(toy, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        datasets.fetch(toy, tmp_path)


def test_a_later_file_that_differs_from_the_pinned_one_is_refused(server, tmp_path):
    toy = unpublished(server.says("/toy.csv", CONTENT, CONTENT.replace(b"2.5", b"2.6")))
    with pytest.warns(DatasetWarning, match="Nobody published"):
        datasets.fetch(toy, tmp_path)
    (tmp_path / "toy" / "toy.csv").unlink()
    with pytest.raises(DatasetError, match=r"held against the first copy.*remove its entry from .*checksums\.lock"):
        datasets.fetch(toy, tmp_path)
    assert not (tmp_path / "toy" / "toy.csv").exists()


def test_a_pinned_file_that_is_altered_here_is_moved_aside_and_fetched_again(server, tmp_path):
    toy = unpublished(server.says("/toy.csv", CONTENT))
    with pytest.warns(DatasetWarning, match="Nobody published"):
        datasets.fetch(toy, tmp_path)
    (tmp_path / "toy" / "toy.csv").write_bytes(CONTENT.replace(b"2.5", b"2.6"))
    with pytest.warns(DatasetWarning, match="its content is altered"):
        datasets.fetch(toy, tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


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


def test_a_published_checksum_is_not_pinned(server, tmp_path):
    datasets.fetch(dataset(server.says("/toy.csv", CONTENT)), tmp_path)
    assert not (tmp_path / "checksums.lock.json").exists()


def test_a_broken_lock_file_is_told(server, tmp_path):
    (tmp_path / "checksums.lock.json").write_text("{")
    with pytest.raises(DatasetError, match=r"checksums\.lock\.json.*cannot be read.*Restore it"):
        datasets.fetch(unpublished(server.says("/toy.csv", CONTENT)), tmp_path)


def _pin_in_process(root: Path, number: int, barrier) -> None:
    barrier.wait(timeout=60)
    checksum_lock.pin(root, f"set{number}", "file", "0" * 64, 1, "here")


def test_processes_that_pin_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [context.Process(target=_pin_in_process, args=(tmp_path, number, barrier)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert all(checksum_lock.pinned(tmp_path, f"set{number}", "file") for number in range(3))


# Several forms of the same data


def two_forms(*urls: str):
    loose = Form((File("one.csv", "all_1", sha256=sha256(CONTENT[:400])), File("two.csv", "all_2")), "csv")
    return replace(dataset(*urls), forms=(loose,))


def test_another_form_that_is_at_hand_serves(server, tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "one.csv").write_bytes(CONTENT[:400])
    (tmp_path / "toy" / "two.csv").write_bytes(CONTENT[400:])
    with pytest.warns(DatasetWarning, match=r"Nobody published a checksum of two\.csv"):
        stamp = datasets.fetch(two_forms(server.says("/toy.csv", CONTENT)), tmp_path)
    assert [file["part"] for file in json.loads(stamp.read_text())["files"]] == ["all_1", "all_2"]
    assert server.asked == []


def test_the_first_form_is_fetched_where_none_is_at_hand(server, tmp_path):
    stamp = datasets.fetch(two_forms(server.says("/toy.csv", CONTENT)), tmp_path)
    assert [file["part"] for file in json.loads(stamp.read_text())["files"]] == ["all"]


def test_a_form_without_an_address_is_not_counted_among_what_was_tried(server, tmp_path):
    with pytest.raises(DatasetError) as told:
        datasets.fetch(two_forms(server.url + "/absent"), tmp_path)
    assert "one.csv" not in str(told.value)


def test_another_form_is_downloaded_when_the_first_one_cannot_be_had(server, tmp_path):
    other = File(
        "toy.csv.gz", "all_1", (server.says("/toy.csv.gz", gzip.compress(CONTENT)),), content_sha256=sha256(CONTENT)
    )
    toy = replace(dataset(server.url + "/absent"), forms=(Form((other,), "csv"),))
    stamp = datasets.fetch(toy, tmp_path)
    assert [file["name"] for file in json.loads(stamp.read_text())["files"]] == ["toy.csv.gz"]


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


@needs_mirror
@pytest.mark.parametrize("name", ["mnist", "a9a", "adult_uci", "covtype", "ijcnn1", "kddcup99_tenth", "sarcos_small"])
def test_the_real_files_are_taken_from_a_mirror(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stamp = datasets.fetch(name, tmp_path, MIRROR)
    files = json.loads(stamp.read_text())["files"]
    assert [file["name"] for file in files] == [file.name for file in datasets.get(name).files]
