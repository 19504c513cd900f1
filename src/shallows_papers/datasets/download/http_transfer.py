"""One file over HTTP, by requests and the retries of urllib3, resumed where it broke off when the server can.

The transfer is by hand, since pooch begins a file of gigabytes anew after every fault, and unpacks a .gz file that a
server calls an encoding.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shallows.errors import MissingExtraError

try:
    import requests
    import urllib3
except ModuleNotFoundError:
    raise MissingExtraError("data", "A download") from None

#: Two more tries of an address that failed in a way that may pass, after longer and longer waits.
RETRIES = urllib3.Retry(total=2, backoff_factor=1.5, status_forcelist={408, 425, 429, 500, 502, 503, 504})
TIMEOUTS = (10, 60)  # to connect, and between two arrivals of bytes
_BLOCK = 1 << 18


class TransferError(Exception):
    """An address did not give the file; the message says how."""


class _PassingError(Exception):
    """A fault that may pass; the message says which."""


@dataclass
class _Transfer:
    """A transfer and its state; `validator` says whether the server's file is still the same at the next try."""

    url: str
    target: Path
    bar: Any
    have: int = 0
    validator: str | None = None
    resumed: bool = False


def download(url: str, target: Path, label: str, progress: bool) -> None:
    """Download an address to a path, with a progress bar named `label`.

    A failure that may pass is tried again after a wait: from where it broke off if the server can do that and its file
    is still the same, else from the beginning. Tries that bring the file further are not counted; three in a row that
    do not are the end. The content is not checked here.
    """
    retries = RETRIES
    with closing(progress_bar(label, urlsplit(url).netloc, progress)) as bar:
        transfer = _Transfer(url, target, bar)
        while True:
            before = transfer.have
            try:
                _pull(transfer)
                return
            except _PassingError as fault:
                if transfer.resumed and transfer.have > before:
                    retries = RETRIES
                try:
                    retries = retries.increment("GET", url, error=fault)
                except urllib3.exceptions.MaxRetryError:
                    raise TransferError(f"{fault} ({len(retries.history) + 1} tries)") from fault
                onwards = f" from byte {transfer.have:,}" if transfer.have and transfer.validator else ""
                if progress:
                    _say(f"{label}: {fault}; trying again{onwards} in {retries.get_backoff_time():g} s")
                retries.sleep()


def _pull(transfer: _Transfer) -> None:
    """Ask the server once."""
    # Some servers compress on the wire and label .gz files as an encoding of something else; identity forbids both.
    headers = {"Accept-Encoding": "identity"}
    if transfer.have and transfer.validator:
        headers |= {"Range": f"bytes={transfer.have}-", "If-Range": transfer.validator}
    try:
        with requests.get(transfer.url, headers=headers, stream=True, timeout=TIMEOUTS) as answer:
            _take(answer, transfer)
    except requests.HTTPError as error:
        said = f"HTTP {error.response.status_code} {error.response.reason}"
        if RETRIES.is_retry("GET", error.response.status_code):
            raise _PassingError(said) from error
        raise TransferError(said) from error
    except (requests.exceptions.InvalidURL, ValueError) as error:
        raise TransferError(f"not an address: {error}") from error
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise _PassingError("no answer in time") from error
    except (urllib3.exceptions.ProtocolError, requests.exceptions.ChunkedEncodingError) as error:
        raise _PassingError("the connection broke off before the end") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _PassingError(f"no connection ({_innermost(error)})") from error


def _take(answer: requests.Response, transfer: _Transfer) -> None:
    if answer.status_code != 416:
        answer.raise_for_status()
    first = answer.headers.get("Content-Range", "").removeprefix("bytes").strip().partition("-")[0]
    transfer.resumed = answer.status_code == 206 and first == str(transfer.have)
    if answer.status_code in (206, 416) and not transfer.resumed:  # begin anew at the next try
        transfer.have, transfer.validator = 0, None
        if answer.status_code == 416:  # nothing is left of the server's file, so it is another one
            raise _PassingError("the server's file has changed")
        raise _PassingError("the server went on at the wrong place")
    if not transfer.resumed:
        transfer.have = 0
    # Servers often call a compressed file an encoding of its content; it is kept compressed.
    encoded = answer.headers.get("Content-Encoding", "identity").lower() not in ("", "identity")
    decode = encoded and not urlsplit(transfer.url).path.endswith((".gz", ".tgz"))
    etag, length = answer.headers.get("ETag", ""), answer.headers.get("Content-Length", "")
    strong = etag if etag and not etag.startswith("W/") else None
    transfer.validator = None if decode else strong or answer.headers.get("Last-Modified")
    total = None if decode or not length.isdigit() else transfer.have + int(length)
    transfer.bar.total, transfer.bar.n = total, transfer.have
    with open(transfer.target, "ab" if transfer.resumed else "wb") as file:
        for block in answer.raw.stream(_BLOCK, decode_content=decode):
            file.write(block)
            transfer.have += len(block)
            transfer.bar.update(len(block))
    if total is not None and transfer.have < total:
        raise _PassingError("the connection broke off before the end")


def _innermost(error: BaseException) -> str:
    """Return the plain cause at the bottom of a chain of library errors: "Connection refused"."""
    while (below := error.__cause__ or error.__context__) is not None:
        error = below
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


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
