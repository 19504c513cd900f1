"""A downloader for pooch that retries, and resumes an interrupted transfer if the server supports it."""

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

#: Two more attempts after a temporary failure, with increasing waits.
RETRIES = urllib3.Retry(total=2, backoff_factor=1.5, status_forcelist={408, 425, 429, 500, 502, 503, 504})
TIMEOUTS = (10, 60)  # seconds to connect, and between two chunks of bytes
BLOCK = 1 << 14  # bytes per read; an incomplete block is lost when the connection breaks


class TransferError(Exception):
    """An address did not provide the file; the message says why."""


class _PassingError(Exception):
    """A temporary failure."""


class ResumingDownloader:
    """Downloads one file by pooch's HTTPDownloader, with a progress bar named `label`.

    After a temporary failure it waits and tries again. It resumes if the server supports that and its file is still the
    same, and otherwise starts again. It gives up after three attempts in a row without new bytes. It does not check the
    content.
    """

    def __init__(self, label: str, progress: bool):
        self.label, self.progress = label, progress
        self.validator: str | None = None  # shows at the next attempt whether the server's file is still the same
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
        # "identity" forbids compression in transit. Some servers also label .gz files as an encoding of other content.
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
        """Move to the position of the next bytes in the file; requests calls this for every response."""
        have = self.file.tell()
        first = answer.headers.get("Content-Range", "").removeprefix("bytes").strip().partition("-")[0]
        self.resumed = answer.status_code == 206 and first == str(have)
        if self.resumed or answer.is_redirect or (not answer.ok and answer.status_code != 416):
            return
        self.file.truncate(self.file.seek(0))
        self.validator = None
        if answer.status_code == 416:  # the server's file is shorter than ours, so it has changed
            raise _PassingError("the server's file has changed")
        if answer.status_code == 206:
            raise _PassingError("the server continued at the wrong position")
        # Servers often call a compressed file an encoding of its content; it is kept compressed.
        if urlsplit(answer.url).path.endswith((".gz", ".tgz")):
            answer.raw.headers.pop("Content-Encoding", None)
        encoded = answer.raw.headers.get("Content-Encoding", "identity").lower() not in ("", "identity")
        etag, length = answer.headers.get("ETag", ""), answer.headers.get("Content-Length", "")
        strong = etag if etag and not etag.startswith("W/") else None
        self.validator = None if encoded else strong or answer.headers.get("Last-Modified")
        self.bar.n, self.bar.total = 0, None if encoded or not length.isdigit() else int(length)


def _innermost(error: BaseException) -> BaseException:
    """Return the first error in a chain of library errors, such as "Connection refused"."""
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
    """Progress for log files, where tqdm's bar would be unreadable: a line every ten seconds."""

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
        """Print a last line if the file is complete."""
        if self.n and self.n >= (self.total or 0):
            _say(f"{self.label}: {self.n / 1e6:.1f} MB fetched")
