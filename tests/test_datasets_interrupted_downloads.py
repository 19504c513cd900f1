"""Downloads whose connection fails in the middle or whose server is slow: they continue from there, or are given up."""

from __future__ import annotations

import threading

import pytest

from datasets_example import CONTENT, dataset, left_in, server_without_pauses
from shallows_papers import datasets
from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.download import fetching


@pytest.fixture
def server(monkeypatch):
    yield from server_without_pauses(monkeypatch)


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


def test_a_server_that_falls_silent_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "TIMEOUTS", (0.2, 0.2))
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
