"""The dated, append-only log of criteria, settings and verdicts: ``config/verdict_log.csv``.

A criterion or a setting is the text of its entry in the configuration. Verdicts are those of the laptop scale's
reference. Each line has the date, what changed, its old and its new value, and the reason. A count is a number
that was counted once.
"""

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError

from .table_rows import Row

#: The file's name in the folder of the configuration.
NAME = "verdict_log.csv"
COLUMNS = ("date", "what", "target", "name", "old", "new", "reason")
#: The scale whose settings and verdicts are logged.
SCALE = "laptop"
CRITERION, SETTING, VERDICT, COUNT = "criterion", "setting", "verdict", "count"

#: What changed: its kind (one of the three above), the target, and the name of a metric, a method or a row.
Key = tuple[str, str, str]

_OF_A_CRITERION = ("evidence", "at_most", "at_least", "between", "tolerance", "paired", "every_seed")


def entries_of(target: str, spec: Mapping[str, Any]) -> dict[Key, str]:
    """Return the criteria and the settings of a target's entry in the configuration, as texts."""
    found: dict[Key, str] = {}
    for name, one in {**spec.get("metrics", {}), **spec.get("claims", {})}.items():
        parts = {key: one[key] for key in _OF_A_CRITERION if key in one}
        if "tolerance" in parts:
            parts["tolerance"] = {key: value for key, value in parts["tolerance"].items() if key != "reason"}
        parts |= {key: True for key in ("refuted", "misprint") if key in one}
        parts |= {key: value for key, value in one.get("first_passage", {}).items() if key in ("plus", "times")}
        parts |= {"to": one["to"]} if isinstance(one.get("to"), Mapping) else {}
        if parts:
            found[CRITERION, target, name] = _text(parts)
    groups = spec.get("scales", {}).get(SCALE, {}).get("runs", [])
    for method, entry in spec.get("methods", {}).items():
        its = (group for group in groups if method in group.get("methods", [method]))
        given = [group["parameters"] for group in its if "parameters" in group]
        own = {key: value for key, value in (entry or {}).items() if key in ("method", "parameters")}
        found[SETTING, target, method] = _text({**own, **({SCALE: given} if given else {})})
    return found


def verdicts_of(rows: Iterable[Row]) -> dict[Key, str]:
    """Return the verdicts of printed items; rows about the same item and with the same name share an entry."""
    found: dict[Key, str] = {}
    for row in rows:
        if row.published and row.evidence:
            key = (VERDICT, row.target, " | ".join(filter(None, (row.dataset, row.method, row.setting, row.metric))))
            found[key] = "; ".join(filter(None, (found.get(key), str(row.verdict))))
    return found


def path_in(configuration: Path) -> Path | None:
    """Return the log in the folder of a configuration, or None if there is none."""
    path = configuration / NAME
    return path if path.exists() else None


def read(path: str | Path) -> list[dict[str, str]]:
    """Read the lines of the log."""
    with open(path, newline="", encoding="utf-8") as stream:
        lines = [*csv.DictReader(stream)]
    if lines and tuple(lines[0]) != COLUMNS:
        raise ShallowsError(f"{path} has the columns {', '.join(lines[0])} instead of {', '.join(COLUMNS)}.")
    return lines


def last_values(lines: Iterable[Mapping[str, str]]) -> dict[Key, str]:
    """Return the newest value of everything in the log; what was removed has an empty value."""
    return {(line["what"], line["target"], line["name"]): line["new"] for line in lines}


def changes(before: Mapping[Key, str], now: Mapping[Key, str]) -> Iterator[tuple[Key, str, str]]:
    """Yield what differs, with its old and its new value; empty where there is none."""
    for key in dict.fromkeys((*before, *now)):
        old, new = before.get(key, ""), now.get(key, "")
        if old != new and key[0] in (CRITERION, SETTING, VERDICT):
            yield key, old, new


def unlogged(lines: Iterable[Mapping[str, str]], now: Mapping[Key, str]) -> list[str]:
    """Return a sentence for each difference between the last entries of the log and the present values."""
    return [
        f"The {what} of {target}, {name}, changed from {old or 'nothing'} to {new or 'nothing'} without an entry in "
        f"{NAME}. Add it: python -m shallows_papers.reference log --reason '...'"
        for (what, target, name), old, new in changes(last_values(lines), now)
    ]


def append(path: str | Path, now: Mapping[Key, str], reason: str, targets: Collection[str] = ()) -> Iterator[str]:
    """Append a line for each change of the targets, or of all, with today's date and the reason; yield it as text."""
    found = [one for one in changes(last_values(read(path)), now) if not targets or one[0][1] in targets]
    date = datetime.now(UTC).date().isoformat()
    with open(path, "a", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows((date, *key, old, new, reason) for key, old, new in found)
    yield from (f"{' '.join(key)}: {old or 'nothing'} → {new or 'nothing'}" for key, old, new in found)
    yield f"{len(found)} entries appended to {path}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
