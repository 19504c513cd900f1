"""The folder of a scale's reference results: one table and one record for each target, and an index with checksums."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.datasets.files import digest, replacing, write_json
from shallows_papers.experiments.comparing.table_rows import Row, read_rows, write_rows
from shallows_papers.experiments.comparing.target_table import machine_text

#: Version of the files; raised when older ones would be read in another sense.
FORMAT = 2
INDEX = "index.json"


class TornReferenceError(ShallowsError):
    """A file of the reference results that is missing, unreadable or not the one that was collected."""


@dataclass(frozen=True)
class TargetFiles:
    """What the reference holds of one target."""

    rows: list[Row]  # of its table; their `records` are identifiers of runs
    record: dict[str, Any]  # meta (for rendering), runs, data, made_by, of_the_machine, timed_runs, thinned


def read_index(folder: str | Path) -> dict[str, Any]:
    """The index of a scale: its targets, each with commit, machine and date, and those that were not run."""
    path = Path(folder) / INDEX
    if not path.exists():
        raise TornReferenceError(
            f"{path} does not exist: there are no reference results of this scale. make reference SCALE=... collects "
            "them from your own finished runs."
        )
    index = _json(path)
    if index.get("format") != FORMAT:
        raise TornReferenceError(
            f"{path} has the form {index.get('format')}, and this version of the package reads {FORMAT}: take both "
            "from one commit."
        )
    return index


def read_target(folder: str | Path, target: str, index: Mapping[str, Any]) -> TargetFiles:
    """The table and the record of a target, whose checksums are compared with the index first."""
    folder, listed = Path(folder), index["targets"][target]
    table, record = folder / f"{target}.csv", folder / f"{target}.json"
    for path, wanted in ((table, listed["table_sha256"]), (record, listed["record_sha256"])):
        if not path.exists():
            raise TornReferenceError(f"{path} is listed in {INDEX} and is not there. {_remedy(folder)}")
        if digest(path) != wanted:
            raise TornReferenceError(f"{path} is not whole: its checksum is not that of {INDEX}. {_remedy(folder)}")
    return TargetFiles(read_rows(table), _json(record))


def write_target(folder: str | Path, target: str, rows: Iterable[Row], record: Mapping[str, Any]) -> dict[str, str]:
    """Write the two files of a target, and return their checksums as the index holds them."""
    folder = Path(folder)
    table, path = folder / f"{target}.csv", folder / f"{target}.json"
    write_rows(table, rows)
    with replacing(path) as partial:
        partial.write_text(_one_line_an_entry(record), encoding="utf-8")
    return {"table_sha256": digest(table), "record_sha256": digest(path)}


def write_index(folder: str | Path, index: Mapping[str, Any]) -> None:
    """Write the index, and remove the files of targets that it does not list."""
    folder = Path(folder)
    write_json(folder / INDEX, {**index, "format": FORMAT})
    listed = {f"{target}.{ending}" for target in index["targets"] for ending in ("csv", "json")}
    for path in (*folder.glob("*.csv"), *folder.glob("*.json")):
        if path.name not in listed | {INDEX}:
            path.unlink()


def _one_line_an_entry(record: Mapping[str, Any]) -> str:
    """JSON with a line for each entry of a list, so that a run that changed is a line that changed."""
    parts = []
    for name, value in record.items():
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if isinstance(value, list) and value:
            entries = (json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in value)
            text = "[\n" + ",\n".join(entries) + "\n]"
        parts.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TornReferenceError(f"{path} is not whole: {error}. {_remedy(path.parent)}") from None
    if not isinstance(found, dict):
        raise TornReferenceError(f"{path} is not whole: it holds no mapping. {_remedy(path.parent)}")
    return found


def _remedy(folder: Path) -> str:
    return f"Take it from the repository again: git checkout -- {folder}"


def lines(index: Mapping[str, Any]) -> Iterator[str]:
    """The index as a table in Markdown, with a row for each target, those that were not run last."""
    machines = distinct(machine for entry in index["targets"].values() for machine in entry["machines"])
    yield "| target | runs | seconds | commit | machine | finished |"
    yield "|:--|--:|--:|:--|:--|:--|"
    for target, entry in index["targets"].items():
        commits = ", ".join((one or "unknown")[:10] for one in entry["commits"])
        changes = " with changes" if entry["with_changes_beside"] else ""
        numbers = ", ".join(str(machines.index(one) + 1) for one in entry["machines"])
        yield (
            f"| {target} | {entry['runs']} | {entry['seconds']:,.1f} | {commits}{changes} | {numbers} | "
            f"{str(entry['finished'])[:10]} |"
        )
    for target, reason in index["not_run"].items():
        yield f"| {target} | not run: {reason} | | | | |"
    yield ""
    for number, one in enumerate(machines, start=1):
        yield f"Machine {number}: {machine_text(one)}"
    seconds = sum(entry["seconds"] for entry in index["targets"].values())
    yield f"In all {seconds:,.0f} s; a run that several targets share counts for each of them."


def distinct(values: Iterable[Any]) -> list[Any]:
    """Every value once, in the order of first appearance."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
