"""Trust on first use: the lock file with the checksums of files for which nobody published one."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from filelock import FileLock

from shallows.datasets.files import DatasetError, write_json

LOCK_NAME = "checksums.lock.json"


def pinned(root: Path, dataset: str, file: str) -> dict[str, Any] | None:
    """Return what was noted of a file when it first came, or None.

    Parameters
    ----------
    root : Path
        The folder of downloads.
    dataset, file : str

    Returns
    -------
    dict or None
        ``sha256``, ``size``, ``source`` and ``date``.
    """
    return _read(Path(root) / LOCK_NAME).get(f"{dataset}/{file}")


def pin(root: Path, dataset: str, file: str, sha256: str, size: int, source: str) -> None:
    """Note a file that has come for the first time; several processes may do so at once.

    Parameters
    ----------
    root : Path
        The folder of downloads.
    dataset, file : str
    sha256 : str
    size : int
        Bytes.
    source : str
        Where it came from.
    """
    path = Path(root) / LOCK_NAME
    with FileLock(path.with_name(f".{LOCK_NAME}.lock")):
        files = _read(path)
        files[f"{dataset}/{file}"] = {
            "sha256": sha256,
            "size": size,
            "source": source,
            "date": datetime.date.today().isoformat(),
        }
        write_json(path, {"schema_version": 1, "files": dict(sorted(files.items()))})


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))["files"]
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{path}, which notes the checksums of first downloads, cannot be read ({error}). Restore it, or remove it "
            "to trust the files as they come next."
        ) from error
