"""The reference results of each target: its table, computed from complete runs by the same code as for new runs."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from shallows_papers.experiments.comparing import target_table
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.report.target import Target

from . import folder, old_rows

NOT_COLLECTED = "not collected"


class Reference:
    """The reference results of a scale, read with the current plan."""

    def __init__(self, plan: Plan, scale: str, place: str | Path):
        self.plan, self.scale, self.place = plan, scale, Path(place)
        self.index = folder.read_index(place)

    @cached_property
    def runs(self) -> dict[str, dict[str, Any]]:
        """The complete runs by identifier, including runs that the current configuration does not request."""
        return folder.read_runs(self.place, self.index)

    @property
    def unrequested(self) -> list[str]:
        """The identifiers of complete runs that the current configuration does not request."""
        return [name for name in self.runs if name not in self.plan.runs(self.scale)]

    @cached_property
    def targets(self) -> list[str]:
        """The targets with reference results, in the order of the plan."""
        return [target for target in self.plan.targets if target in self.index["rows"] or self.results_of(target)]

    def reason(self, target: str) -> str:
        """Return the reason why a target is missing or incomplete."""
        planned = self.plan.runs_of(target, self.scale)
        why = NOT_COLLECTED if planned else "nothing of it is run at this scale"
        return f"not among the reference results: {why}"

    def results_of(self, target: str) -> dict[str, RunResult]:
        """Return the complete runs of a target for the comparison."""
        along, found = self.plan.target(target).get("mark", ""), {}
        for run in self.plan.runs_of(target, self.scale):
            if (stored := self.runs.get(run.id)) and folder.is_of(stored, target):
                rows = csv.DictReader(stored["curve"].splitlines())
                wrong = stored.get("wrong", "")
                found[run.id] = RunResult.of(run.folder, stored["record"], list(rows), along, wrong)
        return found

    def runs_of(self, target: str) -> list[RunResult]:
        """Return the runs of a target. Runs from an older collection have no curve."""
        if target in self.index["rows"]:
            return [*old_rows.results_of(self._old(target), target).values()]
        return [*self.results_of(target).values()]

    def table(self, target: str) -> Target:
        """Return the rows of a target with the current configuration's verdicts, and their description.

        Series with a missing run are "not run".
        """
        comparison = self.plan.comparison(target, self.scale)
        if target in self.index["rows"]:
            return old_rows.table(comparison, self._old(target))
        results = self.results_of(target)
        held = [one for one in comparison["series"] if results.keys() >= {*one["run_ids"]}]
        if len(held) < len(comparison["series"]) or not held:
            comparison = {**comparison, "series": held, "left_out": self.reason(target)}
        rows, meta = tuple(target_table.rows_of(comparison, results)), target_table.describe(comparison, results)
        if not held:
            known = {"dataset", "method", "metric", *(key for row in rows for key in row.keys)}
            meta["layout"] = {side: [one for one in axes if one in known] for side, axes in meta["layout"].items()}
        return Target(rows, meta)

    def timed(self, target: str) -> set[str]:
        """Return the runs of a target that were evaluated after a time in seconds, as named in its rows."""
        if target in self.index["rows"]:
            return {*self._old(target).record["timed_runs"]}
        return {run.folder for run in self.plan.runs_of(target, self.scale) if run.unit == "seconds"}

    def _old(self, target: str) -> folder.OldRows:
        return folder.read_rows_of(self.place, target, self.index)

    def lines(self) -> Iterator[str]:
        """Yield a Markdown table with a row for each target; targets without results come last."""
        found = {target: facts(run.record for run in self.runs_of(target)) for target in self.targets}
        machines = folder.distinct(machine for one in found.values() for machine in one["machines"])
        yield "| target | runs | seconds | commit | machine | finished |"
        yield "|:--|--:|--:|:--|:--|:--|"
        for target, one in found.items():
            numbers = ", ".join(str(machines.index(machine) + 1) for machine in one["machines"])
            yield (
                f"| {target} | {one['runs']} | {one['seconds']:,.1f} | {commits_text(one)} | {numbers} | "
                f"{str(one['finished'])[:10]} |"
            )
        for target in self.plan.targets:
            if target not in found:
                yield f"| {target} | {self.reason(target)} | | | | |"
        yield ""
        for number, machine in enumerate(machines, start=1):
            yield f"Machine {number}: {target_table.machine_text(machine)}"
        seconds = sum(one["seconds"] for one in found.values())
        yield f"In all {seconds:,.0f} s; a run that several targets share counts for each of them."
        if self.unrequested:
            yield (
                f"{len(self.unrequested)} runs that the present configuration does not request: "
                f"{', '.join(self.unrequested[:10])}"
            )


def facts(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return commits, machines, dates and total seconds of runs."""
    records = [*records]
    return {
        "runs": len(records),
        "commits": folder.distinct(one["code"]["commit"] for one in records),
        "n_with_changes": len({one["code"]["commit"] for one in records if one["code"]["dirty"]}),
        "machines": folder.distinct(
            {key: one["hardware"][key] for key in ("cpu", "cores", "memory_bytes", "gpu")} for one in records
        ),
        "finished": max((one["finished"] for one in records), default=None),
        "seconds": round(sum(one["times"]["total"] for one in records), 1),
    }


def commits_text(found: Mapping[str, Any]) -> str:
    """Return the commits of `facts` in short form."""
    commits = ", ".join((one or "unknown")[:10] for one in found["commits"])
    return commits + (" with changes" if found["n_with_changes"] else "")
