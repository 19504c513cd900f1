"""Whether a file is the one that the catalogue describes, and what is wrong with it in words."""

from __future__ import annotations

import hashlib
from pathlib import Path

from shallows.datasets.catalogue import File
from shallows.datasets.files import digest
from shallows.datasets.formats.containers import CONTAINER_ERRORS, open_binary


def verify(path: Path, file: File) -> tuple[str | None, str]:
    """Hold a file against its catalogue entry.

    Parameters
    ----------
    path : Path
        The file as it lies.
    file : File
        What the catalogue says of it. Every checksum that it knows is computed and compared.

    Returns
    -------
    problem : str or None
        What is wrong with it, in words.
    sha256 : str
        The digest of the file as it lies.
    """
    known = {name: getattr(file, name) for name in ("sha256", "md5", "git_sha1") if getattr(file, name) is not None}
    found = {name: digest(path, name) for name in ("sha256", *known)}
    size = path.stat().st_size
    if known:
        right = all(found[name] == value for name, value in known.items())
    elif file.content_sha256 is not None:
        right = False
    else:  # nothing but the size, if that, is known of it
        right = size > 0 and not _is_page(path) and file.size in (None, size)
    if right or found["sha256"] in file.accepted:
        return None, found["sha256"]
    if file.content_sha256 is not None and _content_digest(path, file.name) == file.content_sha256:
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
    """Return the checksum that a file should have, for the words of an error."""
    return file.sha256 or file.md5 or file.git_sha1 or file.content_sha256 or "unknown"


def _content_digest(path: Path, name: str) -> str | None:
    try:
        with open_binary(path, name) as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except (ValueError, *CONTAINER_ERRORS):
        return None


def _is_page(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))
