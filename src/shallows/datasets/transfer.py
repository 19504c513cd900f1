"""One file over HTTP: with patience, and from where it broke off when the server can."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shallows.datasets.files import PARTIAL_SUFFIX

# Seconds to wait before the second and third try of an address that failed in a way that may pass.
RETRY_WAITS = (1.0, 3.0)
TIMEOUTS = (10, 60)  # to connect, and between two arrivals of bytes
_PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}
_CHUNK = 1 << 18


class TransferError(Exception):
    """An address did not give the file; the message says how."""


@dataclass
class _Progress:
    """What has come of a file so far."""

    have: int = 0
    validator: str | None = None  # what tells the server's file of now from that of the next try
    resumed: bool = False


def download(url: str, partial: Path, label: str, progress: bool) -> None:
    """Bring an address to a path by pooch, with a downloader that goes on where it broke off.

    Pooch's own downloader begins anew after every fault. The content is not checked here: the caller says what is wrong
    with a file, for which it must have it.

    Parameters
    ----------
    url : str
    partial : Path
        Where to write.
    label : str
        What the progress bar calls it.
    progress : bool
        Whether to show one.

    Raises
    ------
    TransferError
        When it cannot be had.
    """
    import logging

    import pooch

    pooch.get_logger().setLevel(logging.WARNING)  # It would print the checksum of every file as advice.
    with tempfile.TemporaryDirectory(dir=partial.parent, prefix=".", suffix=PARTIAL_SUFFIX) as folder:
        came = pooch.retrieve(url, known_hash=None, fname="file", path=folder, downloader=Resuming(label, progress))
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(came, 0o666 & ~mask)  # Pooch's temporary files are for their owner alone.
        os.replace(came, partial)


@dataclass(frozen=True)
class Resuming:
    """A downloader for pooch.

    Attributes
    ----------
    label : str
        What the progress bar calls the file.
    progress : bool
        Whether to show one.
    """

    label: str
    progress: bool

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """Bring ``url`` to ``output_file``."""
        _with_patience(url, Path(output_file), self.label, self.progress)


def _with_patience(url: str, partial: Path, label: str, progress: bool) -> None:
    """Bring an address to a path.

    A failure that may pass is tried again after a wait, from where it broke off if the server can do that and its file
    is still the same, from the beginning otherwise. As long as every try brings the file further there is no end of
    tries; three in a row that do not are the end.
    """
    state = _Progress()
    failures = 0
    bar = bar_for(label, urlsplit(url).netloc) if progress else None
    try:
        while True:
            before = state.have
            try:
                _pull(url, partial, state, bar)
                return
            except ConnectionError as error:
                failures = 1 if state.resumed and state.have > before else failures + 1
                if failures > len(RETRY_WAITS):
                    raise TransferError(f"{error} ({failures} tries)") from error
                wait = RETRY_WAITS[failures - 1]
                onwards = f" from byte {state.have:,}" if state.have and state.validator else ""
                _say(progress, f"{label}: {error}; trying again{onwards} in {wait:g} s")
                time.sleep(wait)
    finally:
        if bar is not None:
            bar.close()


def _pull(url: str, partial: Path, state: _Progress, bar: Any) -> None:
    """Ask once; ConnectionError for what may pass, TransferError for what will not."""
    import requests
    import urllib3

    # Some servers compress on the wire and label .gz files as an encoding of something else; identity forbids both.
    headers = {"Accept-Encoding": "identity"}
    if state.have and state.validator:
        headers |= {"Range": f"bytes={state.have}-", "If-Range": state.validator}
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUTS) as answer:
            _take(answer, url, partial, state, bar)
    except requests.exceptions.HTTPError as error:
        said = f"HTTP {error.response.status_code} {error.response.reason}"
        if error.response.status_code in _PASSING_STATUS:
            raise ConnectionError(said) from error
        raise TransferError(said) from error
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema) as error:
        raise TransferError(f"not an address: {error}") from error
    except requests.exceptions.MissingSchema as error:
        raise TransferError(f"not an address: {error}") from error
    except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise ConnectionError("no answer in time") from error
    except (urllib3.exceptions.ProtocolError, requests.exceptions.ChunkedEncodingError) as error:
        raise ConnectionError("the connection broke off before the end") from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
        raise ConnectionError(f"no connection ({_innermost(error)})") from error


def _take(answer: Any, url: str, partial: Path, state: _Progress, bar: Any) -> None:
    if answer.status_code == 416:  # nothing of its file is left, so it is another file: from the beginning
        state.have, state.validator = 0, None
        raise ConnectionError("the server's file has changed")
    answer.raise_for_status()
    onwards = answer.status_code == 206 and _begins_at(answer.headers.get("Content-Range", "")) == state.have
    if answer.status_code == 206 and not onwards:
        state.have, state.validator = 0, None
        raise ConnectionError("the server went on at the wrong place")
    if not onwards:
        state.have = 0
    state.resumed = onwards
    encoding = answer.headers.get("Content-Encoding", "identity").lower()
    # A file that is compressed itself is often said to be an encoding of what is in it: it is to stay as it is.
    decode = encoding not in ("", "identity") and not urlsplit(url).path.endswith((".gz", ".tgz"))
    etag = answer.headers.get("ETag", "")
    state.validator = None if decode else (etag if etag and not etag.startswith("W/") else None)
    if not decode and state.validator is None:
        state.validator = answer.headers.get("Last-Modified")
    length = answer.headers.get("Content-Length", "")
    total = None if decode or not length.isdigit() else state.have + int(length)
    if bar is not None:
        bar.total = total
        bar.n = state.have
    with open(partial, "ab" if onwards else "wb") as file:
        for chunk in answer.raw.stream(_CHUNK, decode_content=decode):
            file.write(chunk)
            state.have += len(chunk)
            if bar is not None:
                bar.update(len(chunk))
    if total is not None and state.have < total:
        raise ConnectionError("the connection broke off before the end")


def _begins_at(content_range: str) -> int | None:
    """Return the first byte of a header such as ``bytes 100-199/200``."""
    first = content_range.removeprefix("bytes").strip().partition("-")[0]
    return int(first) if first.isdigit() else None


def _innermost(error: BaseException) -> str:
    """The plain cause at the bottom of a chain of library errors: "Connection refused"."""
    while (below := error.__cause__ or error.__context__) is not None:
        error = below
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


# Progress


def _say(progress: bool, line: str) -> None:
    if progress:
        print(line, file=sys.stderr, flush=True)


def bar_for(label: str, host: str) -> Any:
    """Return a progress bar: drawn on a terminal, in plain lines elsewhere."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        return tqdm(desc=label, unit="B", unit_scale=True, leave=True)
    return _PlainBar(label, host)


class _PlainBar:
    """A progress bar for logs: a line at the start, one every ten seconds, one at the end."""

    every_seconds = 10.0

    def __init__(self, label: str, host: str):
        self.label, self.total, self.n, self.closed = label, None, 0, False
        self.said = time.monotonic()
        _say(True, f"{label}: fetching from {host}")

    def update(self, n: int) -> None:
        """Count `n` more bytes."""
        self.n += n
        if time.monotonic() - self.said >= self.every_seconds:
            self.said = time.monotonic()
            share = f" of {self.total / 1e6:.1f} MB ({self.n / self.total:.0%})" if self.total else " MB"
            _say(True, f"{self.label}: {self.n / 1e6:.1f}{share}")

    def close(self) -> None:
        """End, with a line when everything came."""
        if not self.closed and self.n and self.n >= (self.total or 0):
            _say(True, f"{self.label}: {self.n / 1e6:.1f} MB fetched")
        self.closed = True
