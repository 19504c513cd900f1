"""A user's own results compared with the reference, target by target, with a report of what drifted."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.datasets.files import replacing
from shallows.errors import UnknownNameError
from shallows.experiments.comparing.rows import read_rows

from . import agreement, folder
from .agreement import AGREES, DRIFTED, LEFT_OUT, MISSING, Finding

COLUMNS = ("target", "dataset", "method", "setting", "metric", "state", "reference", "here", "margin", "why")
_SHOWN = 20


@dataclass(frozen=True)
class Verification:
    """What became of a scale's numbers."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)  # by target, for those that have a table here
    not_here: list[str] = field(default_factory=list)  # targets of the reference that have no table here
    same_runs: int = 0  # runs here with the code, data and parameters of the reference,
    same_bits: int = 0  # those of them whose coefficients are the same to the bit,
    n_runs: int = 0  # and all runs of the reference in the targets that were compared

    @property
    def holds(self) -> bool:
        """Whether something was compared, and nothing drifted or is missing."""
        states = self.states()
        return states[AGREES] > 0 and not states[DRIFTED] and not states[MISSING]

    def states(self) -> Counter[str]:
        """How many numbers have each state."""
        return Counter(one.state for found in self.findings.values() for one in found)


def verify(results: str | Path, reference: str | Path, wanted: Iterable[str] = ()) -> Verification:
    """Compare the tables of a scale's results with its reference: of the targets that are wanted, or of all."""
    results, index = Path(results), folder.read_index(reference)
    findings, not_here, same = {}, [], Counter()
    for target in wanted or index["targets"]:
        if target not in index["targets"]:
            raise UnknownNameError("target in the reference", target, index["targets"])
        files = folder.read_target(reference, target, index)
        table = results / "tables" / f"{target}.csv"
        if not table.exists():
            not_here.append(target)
            continue
        machine = {name: files.record[name] for name in ("of_the_machine", "timed_runs")}
        findings[target] = list(agreement.compare(files.rows, read_rows(table), **machine))
        same.update(_same(files.record["runs"], results))
    return Verification(findings, not_here, same["run"], same["bits"], same["all"])


def _same(runs: Iterable[Mapping[str, Any]], results: Path) -> Iterator[str]:
    """For each run ``all``; ``run`` where code, data and parameters are the same here; ``bits`` where it is equal."""
    for run in runs:
        yield "all"
        with suppress(OSError, ValueError, KeyError):
            own = json.loads((results / run["folder"] / "record.json").read_text(encoding="utf-8"))
            if own["run"]["key"] == run["run"]["key"]:
                yield "run"
                if own["model"]["sha256"] and own["model"]["sha256"] == run["model"]["sha256"]:
                    yield "bits"


def report(found: Verification, index: Mapping[str, Any]) -> Iterator[str]:
    """Lines that tell what drifted, what is missing and what was not compared."""
    commits = folder.distinct(one for entry in index["targets"].values() for one in entry["commits"])
    machines = folder.distinct(one["cpu"] for entry in index["targets"].values() for one in entry["machines"])
    yield (
        f"Reference of the scale {index['scale']}: {len(index['targets'])} targets, commit "
        f"{', '.join((one or 'unknown')[:10] for one in commits)}, on {', '.join(machines)}"
    )
    for target, findings in found.findings.items():
        states = Counter(one.state for one in findings)
        said = ", ".join(f"{states[state]} {state}" for state in (AGREES, DRIFTED, MISSING, LEFT_OUT) if states[state])
        yield f"{target}: {said or 'no numbers'}"
        wrong = [one for one in findings if one.state in (DRIFTED, MISSING)]
        yield from (f"  {one.state}: {one}" for one in wrong[:_SHOWN])
        if len(wrong) > _SHOWN:
            yield f"  and {len(wrong) - _SHOWN} more, which verification.csv holds"
        for one in findings:
            if one.state == AGREES and one.verdicts[0] != one.verdicts[1]:
                yield f"  verdict: {' · '.join(filter(None, one.key))}: {one.verdicts[1]} here, {one.verdicts[0]} there"
    if found.not_here and not found.findings:
        yield (
            f"Nothing could be compared: of {len(found.not_here)} targets none has a table among your own results. "
            f"Run them first (make {index['scale']}, or a target by its name), or give their folder by --results."
        )
    if found.not_here:
        yield f"Not run here: {', '.join(found.not_here)}"
    if index["not_run"]:
        yield f"Not in the reference: {', '.join(index['not_run'])}"
    yield (
        f"{found.same_runs} of {found.n_runs} runs have the code, data and parameters of the reference; of them "
        f"{found.same_bits} are equal to the bit"
    )
    states = found.states()
    yield (
        f"{states[AGREES]} numbers agree, {states[DRIFTED]} drifted, {states[MISSING]} are missing; "
        f"{states[LEFT_OUT]} times, and values reached in a time, were left out"
    )


def write_csv(found: Verification, path: str | Path) -> None:
    """Write every number that was compared, with its margin, as a CSV."""
    with replacing(Path(path)) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for target, findings in found.findings.items():
            for one in findings:
                numbers = ["" if value is None else f"{value:.8g}" for value in (one.reference, one.here, one.margin)]
                writer.writerow([target, *one.key, one.state, *numbers, one.why])
