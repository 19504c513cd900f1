"""The files of a scale's reference results: complete runs, an index, and rows of older collections."""

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.datasets.files import digest, replacing, write_json
from shallows_papers.experiments.comparing.table_rows import Row, read_rows

#: Version of the files; raised when older files would be misread.
FORMAT = 3
INDEX, RUNS = "index.json", "runs.jsonl.gz"


class TornReferenceError(ShallowsError):
    """A file of the reference results that is missing, unreadable or not the collected one."""


@dataclass(frozen=True)
class OldRows:
    """The rows of one target in an older collection."""

    rows: list[Row]
    record: dict[str, Any]  # meta (for rendering), runs, data, made_by, timed_runs, thinned


def read_index(folder: str | Path) -> dict[str, Any]:
    """Read the index of a scale: the checksum of its runs, and the targets with rows."""
    path = Path(folder) / INDEX
    if not path.exists():
        raise TornReferenceError(
            f"{path} does not exist: there are no reference results of this scale. make reference SCALE=... collects "
            "them from your own finished runs."
        )
    index = _json(path)
    if index.get("format") != FORMAT:
        raise TornReferenceError(
            f"{path} has the format {index.get('format')}, but this version of the package reads {FORMAT}. Use both "
            "from the same commit."
        )
    return index


def read_runs(folder: str | Path, index: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Read the complete runs by their identifiers, each with its ``record`` and the text of its ``curve``."""
    if not index["runs_sha256"]:
        return {}
    path = _check_file(Path(folder) / RUNS, index["runs_sha256"])
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return {run["record"]["run"]["id"]: run for run in map(json.loads, lines)}


def read_rows_of(folder: str | Path, target: str, index: Mapping[str, Any]) -> OldRows:
    """Read the rows of a target from an older collection."""
    folder, listed = Path(folder), index["rows"][target]
    table = _check_file(folder / f"{target}.csv", listed["table_sha256"])
    record = _check_file(folder / f"{target}.json", listed["record_sha256"])
    content = _json(record)
    folders = {run["run"]["id"]: run["folder"] for run in content["runs"]}
    rows = [replace(row, records=tuple(folders[name] for name in row.records)) for row in read_rows(table)]
    return OldRows(rows, {**content, "timed_runs": [folders[name] for name in content["timed_runs"]]})


def is_of(run: Mapping[str, Any], target: str) -> bool:
    """Whether a run has the curve that a target needs. A run whose curve is lost has only the points of some tables."""
    return target in run.get("points_of", (target,))


def write(folder: str | Path, runs: Mapping[str, Mapping[str, Any]], index: Mapping[str, Any]) -> None:
    """Write complete runs and the index; remove the files of targets whose rows are no longer listed."""
    folder = Path(folder)
    # Similar neighbors compress better.
    order = sorted(runs, key=lambda name: [runs[name]["record"]["run"][key] for key in ("method", "dataset", "id")])
    lines = (json.dumps(runs[name], ensure_ascii=False, separators=(",", ":")) + "\n" for name in order)
    with replacing(folder / RUNS) as partial:
        partial.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    write_json(folder / INDEX, {"format": FORMAT, **index, "runs_sha256": digest(folder / RUNS)})
    listed = {INDEX, *(f"{target}.{ending}" for target in index["rows"] for ending in ("csv", "json"))}
    for path in (*folder.glob("*.csv"), *folder.glob("*.json")):
        if path.name not in listed:
            path.unlink()


def _check_file(path: Path, sha256: str) -> Path:
    """Return the path of a file after comparing its checksum with the index."""
    if not path.exists():
        raise TornReferenceError(f"{path} is listed in {INDEX}, but it does not exist. {_remedy(path.parent)}")
    if digest(path) != sha256:
        raise TornReferenceError(f"{path} is damaged: its checksum differs from {INDEX}. {_remedy(path.parent)}")
    return path


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TornReferenceError(f"{path} is damaged: {error}. {_remedy(path.parent)}") from None
    if not isinstance(found, dict):
        raise TornReferenceError(f"{path} is damaged: it holds no mapping. {_remedy(path.parent)}")
    return found


def _remedy(folder: Path) -> str:
    return f"Restore it from the repository: git checkout -- {folder}"


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return every value once, in the order of first occurrence."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
