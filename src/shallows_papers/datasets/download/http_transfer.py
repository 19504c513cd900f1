"""A downloader for pooch that tries again, and continues where a transfer broke off when the server can."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shallows.errors import MissingExtraError

try:
    import requests
    import urllib3
    from pooch import HTTPDownloader
    from tqdm.utils import CallbackIOWrapper
except ModuleNotFoundError:
    raise MissingExtraError("data", "A download") from None

#: Two more tries of an address that failed in a way that may pass, after longer and longer waits.
RETRIES = urllib3.Retry(total=2, backoff_factor=1.5, status_forcelist={408, 425, 429, 500, 502, 503, 504})
TIMEOUTS = (10, 60)  # to connect, and between two arrivals of bytes
BLOCK = 1 << 14  # bytes that arrive together; an incomplete block is lost when the connection breaks off


class TransferError(Exception):
    """An address did not give the file; the message says how."""


class _PassingError(Exception):
    """A fault that may pass; the message says which."""


class ResumingDownloader:
    """Downloads one file by pooch's HTTPDownloader, with a progress bar named `label`.

    A failure that may pass is tried again after a wait: from where it broke off if the server can do that and its file
    is still the same, else from the beginning. Tries that bring the file further are not counted; three in a row that
    do not are the end. The content is not checked here.
    """

    def __init__(self, label: str, progress: bool):
        self.label, self.progress = label, progress
        self.validator: str | None = None  # says whether the server's file is still the same at the next try
        self.resumed = False

    def __call__(self, url: str, output_file: str | Path, pooch: Any = None) -> None:
        """Download an address to a path, or raise `TransferError`."""
        retries, self.bar = RETRIES, progress_bar(self.label, urlsplit(url).netloc, self.progress)
        with closing(self.bar), open(output_file, "wb") as self.file:
            while True:
                before, self.resumed = self.file.tell(), False
                try:
                    return self._try(url)
                except _PassingError as fault:
                    have = self.file.tell()
                    if self.resumed and have > before:
                        retries = RETRIES
                    try:
                        retries = retries.increment("GET", url, error=fault)
                    except urllib3.exceptions.MaxRetryError:
                        raise TransferError(f"{fault} ({len(retries.history) + 1} tries)") from fault
                    onwards = f" from byte {have:,}" if have and self.validator else ""
                    if self.progress:
                        _say(f"{self.label}: {fault}; trying again{onwards} in {retries.get_backoff_time():g} s")
                    retries.sleep()

    def _try(self, url: str) -> None:
        # Some servers compress on the wire and label .gz files as an encoding of something else; identity forbids both.
        headers = {"Accept-Encoding": "identity"}
        if self.validator and self.file.tell():
            headers |= {"Range": f"bytes={self.file.tell()}-", "If-Range": self.validator}
        hooks = {"response": self._begin}
        transfer = HTTPDownloader(chunk_size=BLOCK, headers=headers, timeout=TIMEOUTS, hooks=hooks)
        try:
            transfer(url, CallbackIOWrapper(self.bar.update, self.file, "write"), None)
        except requests.HTTPError as error:
            status = error.response.status_code
            kind = _PassingError if RETRIES.is_retry("GET", status) else TransferError
            raise kind(f"HTTP {status} {error.response.reason}") from error
        except ValueError as error:
            raise TransferError(f"not an address: {error}") from error
        except requests.exceptions.ChunkedEncodingError as error:
            raise _PassingError("the connection broke off before the end") from error
        except requests.RequestException as error:
            cause = _innermost(error)
            words = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
            timeout = isinstance(cause, TimeoutError)
            raise _PassingError("no answer in time" if timeout else f"no connection ({words})") from error

    def _begin(self, answer: requests.Response, **_: Any) -> None:
        """Find the place in the file of the bytes to come; requests calls this for every response."""
        have = self.file.tell()
        first = answer.headers.get("Content-Range", "").removeprefix("bytes").strip().partition("-")[0]
        self.resumed = answer.status_code == 206 and first == str(have)
        if self.resumed or answer.is_redirect or (not answer.ok and answer.status_code != 416):
            return
        self.file.truncate(self.file.seek(0))
        self.validator = None
        if answer.status_code == 416:  # nothing is left of the server's file, so it is another one
            raise _PassingError("the server's file has changed")
        if answer.status_code == 206:
            raise _PassingError("the server went on at the wrong place")
        # Servers often call a compressed file an encoding of its content; it is kept compressed.
        if urlsplit(answer.url).path.endswith((".gz", ".tgz")):
            answer.raw.headers.pop("Content-Encoding", None)
        encoded = answer.raw.headers.get("Content-Encoding", "identity").lower() not in ("", "identity")
        etag, length = answer.headers.get("ETag", ""), answer.headers.get("Content-Length", "")
        strong = etag if etag and not etag.startswith("W/") else None
        self.validator = None if encoded else strong or answer.headers.get("Last-Modified")
        self.bar.n, self.bar.total = 0, None if encoded or not length.isdigit() else int(length)


def _innermost(error: BaseException) -> BaseException:
    """Return the plain cause at the bottom of a chain of library errors: "Connection refused"."""
    while (below := error.__cause__ or error.__context__) is not None:
        error = below
    return error


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def progress_bar(label: str, host: str, shown: bool = True) -> Any:
    """Return a progress bar: drawn by tqdm on a terminal, plain lines elsewhere, silent if not `shown`."""
    from tqdm import tqdm

    if not shown or sys.stderr.isatty():
        return tqdm(desc=label, unit="B", unit_scale=True, disable=not shown)
    return _PlainBar(label, host)


class _PlainBar:
    """Lines of progress for logs (tqdm overwrites its line): at the start, every ten seconds, at the end."""

    every_seconds = 10.0

    def __init__(self, label: str, host: str):
        self.label, self.total, self.n = label, None, 0
        self.said = time.monotonic()
        _say(f"{label}: fetching from {host}")

    def update(self, n: int) -> None:
        """Count `n` more bytes."""
        self.n += n
        if time.monotonic() - self.said >= self.every_seconds:
            self.said = time.monotonic()
            share = f" of {self.total / 1e6:.1f} MB ({self.n / self.total:.0%})" if self.total else " MB"
            _say(f"{self.label}: {self.n / 1e6:.1f}{share}")

    def close(self) -> None:
        """End, with a line when everything came."""
        if self.n and self.n >= (self.total or 0):
            _say(f"{self.label}: {self.n / 1e6:.1f} MB fetched")
