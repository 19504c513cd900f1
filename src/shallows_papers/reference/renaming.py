"""New names of the runs of the reference after the configuration has named parameters anew, without a new run.

A run's identifier is a digest of its parameters. Here the plan of an older checkout and the present plan are paired,
target by target and series by series, so a run of the reference gets the parameters, the identifier and the folder that
the present configuration gives to the same run. `judging.judge` then writes the words of the present configuration.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.experiments.planning.configuration import SCALES
from shallows_papers.experiments.planning.runs import PlannedRun

from . import folder

#: Place of the parameters in what `plan_of` says of a run.
PARAMETERS = 3

_PROGRAM = """
import json, sys
from shallows_papers.experiments.planning.plan import Plan
Plan._to_be_supplied = lambda self, dataset: None
plan, found = Plan.load(".", deployed=True), {}
for scale in SCALES:
    runs = {name: [run.dataset, run.variant, run.method, run.parameters, run.seed, run.unit, list(run.marks)]
            for name, run in plan.runs(scale).items()}
    series = {target: [[one.data, one.method, one.setting, list(one.marks), list(one.run_ids)]
                       for one in plan.series(target, scale)] for target in plan.targets}
    found[scale] = {"runs": runs, "series": series}
json.dump(found, sys.stdout)
"""


def plan_of(checkout: str | Path) -> dict[str, Any]:
    """The runs and series of a checkout's plan, by scale, with those whose data or packages are not here."""
    program = f"SCALES = {SCALES!r}\n{_PROGRAM}"
    checkout = Path(checkout).resolve()
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=checkout,
        env={"PYTHONPATH": str(checkout / "src"), "PATH": ""},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ShallowsError(f"The plan of {checkout} cannot be read: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """The present identifier of each run of an older plan, for one scale of what `plan_of` gives.

    Raises
    ------
    ShallowsError
        If the two plans ask for other series or runs, or two runs have become one.
    """
    found: dict[str, str] = {}
    for target, series in old["series"].items():
        now = new["series"].get(target, [])
        if [[*one[:4], len(one[4])] for one in series] != [[*one[:4], len(one[4])] for one in now]:
            raise ShallowsError(f"The target {target} has other series in the two plans.")
        for before, after in zip(series, now, strict=True):
            for one, other in zip(before[4], after[4], strict=True):
                if found.setdefault(one, other) != other:
                    raise ShallowsError(f"The run {one} of {target} has become two runs, {found[one]} and {other}.")
    for one, other in found.items():
        before, after = (
            [part for place, part in enumerate(plan["runs"][name]) if place != PARAMETERS]
            for plan, name in ((old, one), (new, other))
        )
        if before != after:
            raise ShallowsError(f"The run {one} is {before}, and {other} is {after}.")
    if len({*found.values()}) < len(found):
        raise ShallowsError("Two runs of the older plan have become one.")
    return found


def rename(
    reference: str | Path,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    written_out: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[str]:
    """Rename the runs of a scale's reference in place; yield a line for each target that changed.

    ``old`` and ``new`` are of one scale. A run that lacks parameters of ``written_out``, which has them by method,
    lacks them with its new name too.
    """
    names, index = pairs(old, new), folder.read_index(reference)
    for target in index["targets"]:
        files = folder.read_target(reference, target, index)
        runs = [_renamed(one, names, old, new, written_out or {}) for one in files.record["runs"]]
        ids = {one["run"]["id"]: now["run"]["id"] for one, now in zip(files.record["runs"], runs, strict=True)}
        if len({*ids.values()}) < len(ids):
            raise ShallowsError(f"Two runs of {target} would have one name.")
        record = {**files.record, "runs": runs, "timed_runs": [ids[one] for one in files.record["timed_runs"]]}
        rows = [replace(row, records=tuple(ids[one] for one in row.records)) for row in files.rows]
        if record != files.record:
            index["targets"][target] |= folder.write_target(reference, target, rows, record)
            yield f"{target}: {sum(one != now for one, now in ids.items())} of {len(ids)} runs renamed"
    folder.write_index(reference, index)


def _renamed(
    entry: Mapping[str, Any],
    names: Mapping[str, str],
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    written_out: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """The entry of a run in the reference with the parameters that the present plan gives to it."""
    run = entry["run"]
    place = [run["dataset"], run["variant"], run["method"]]
    unnamed = written_out.get(run["method"], {})

    def lacks(now: Mapping[str, Any]) -> set[str]:
        """The parameters of a run of the older plan that this run had without naming them."""
        return {name for name in unnamed if name in now and name not in run["parameters"]}

    same = [
        name
        for name, one in old["runs"].items()
        if one[:3] == place
        and one[4:6] == [run["seed"], run.get("unit", "")]
        and {**{key: unnamed[key] for key in lacks(one[PARAMETERS])}, **run["parameters"]} == one[PARAMETERS]
    ]
    if len(same) != 1 or same[0] not in names:
        raise ShallowsError(f"The older plan does not ask for the run {run['id']}.")
    left_out = lacks(old["runs"][same[0]][PARAMETERS])
    parameters = {key: value for key, value in new["runs"][names[same[0]]][PARAMETERS].items() if key not in left_out}
    now = PlannedRun("", *place, parameters, run["seed"], unit=run.get("unit", ""))
    return {**entry, "folder": now.folder, "run": {**run, "id": now.id, "parameters": parameters}}
