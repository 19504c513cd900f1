"""Compare downloaded files with the catalogue or, if no checksum is published, with the first copy."""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

from filelock import FileLock

from shallows_papers.datasets.catalogue import File
from shallows_papers.datasets.files import DatasetError, digest, write_json
from shallows_papers.datasets.formats.containers import CONTAINER_ERRORS, open_binary

#: The file in the folder of downloads that stores the checksums of first copies.
LOCK_NAME = "checksums.lock.json"


def verify(path: Path, file: File) -> tuple[str | None, str]:
    """Compare a file with all checksums in its catalogue entry; return the fault as text or None, and the sha256."""
    known = {name: getattr(file, name) for name in ("sha256", "md5", "git_sha1") if getattr(file, name) is not None}
    found = {name: digest(path, name) for name in ("sha256", *known)}
    size = path.stat().st_size
    if known:
        right = all(found[name] == value for name, value in known.items())
    else:  # only the size may be known
        right = not file.content_sha256 and size > 0 and not _is_page(path) and file.size in (None, size)
    if right or found["sha256"] in file.accepted or (file.content_sha256 and _has_content(path, file.content_sha256)):
        return None, found["sha256"]
    return _what_is_wrong(path, file, known, found, size), found["sha256"]


def _what_is_wrong(path: Path, file: File, known: dict[str, str], found: dict[str, str], size: int) -> str:
    if size == 0:
        return "it is empty"
    if _is_page(path):
        return "it is an HTML page, not the data"
    if file.size is not None and size < file.size:
        return f"it is truncated: {size:,} of {file.size:,} bytes"
    if file.size is not None and size != file.size:
        return f"it has {size:,} bytes instead of {file.size:,}"
    for name, value in known.items():
        if found[name] != value:
            kind = "" if name == "sha256" else f"{name} "
            return f"its content is altered: the {kind}checksum is {found[name][:12]}..., not {value[:12]}..."
    return f"its content is altered: the checksum is {found['sha256'][:12]}..., not {expected_checksum(file)[:12]}..."


def expected_checksum(file: File) -> str:
    """Return the checksum that a file should have, for an error message."""
    return file.sha256 or file.md5 or file.git_sha1 or file.content_sha256 or "unknown"


def _has_content(path: Path, sha256: str) -> bool:
    try:
        with open_binary(path) as content:
            return hashlib.file_digest(content, "sha256").hexdigest() == sha256
    except (ValueError, *CONTAINER_ERRORS):
        return False


def _is_page(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))


def pinned(root: Path, dataset: str, file: str) -> dict[str, Any] | None:
    """Return the ``sha256``, ``size``, ``source`` and ``date`` of the first copy of a file in `root`, or None."""
    return _read_lock(root / LOCK_NAME).get(f"{dataset}/{file}")


def pin(root: Path, dataset: str, file: str, sha256: str, size: int, source: str) -> None:
    """Store the checksum of the first copy of a file in `root`; several processes may do this at once."""
    path = root / LOCK_NAME
    with FileLock(path.with_name(f".{LOCK_NAME}.lock")):
        files = _read_lock(path)
        date = datetime.date.today().isoformat()
        files[f"{dataset}/{file}"] = {"sha256": sha256, "size": size, "source": source, "date": date}
        write_json(path, {"schema_version": 1, "files": dict(sorted(files.items()))})


def _read_lock(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))["files"]
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{path} stores the checksums of first downloads and cannot be read ({error}). Restore it, or remove it "
            "to trust the next downloads."
        ) from error
