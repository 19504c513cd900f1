"""Collect the finished runs of a scale as reference results."""

import platform
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing.evaluations import wrong_points
from shallows_papers.experiments.planning import target_entry
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.runs import PlannedRun
from shallows_papers.experiments.running import job
from shallows_papers.experiments.running import record as records

from . import folder

_ROOTS = r"(?<![\w.:/])/(?:home|root|tmp|Users|mnt|scratch|var)/"


class NotFinishedError(ShallowsError):
    """A target that cannot be collected; the message says why."""


def collect(
    plan: Plan,
    scale: str,
    results: str | Path,
    reference: str | Path,
    wanted: Iterable[str] = (),
    *,
    older: bool = False,
) -> Iterator[str]:
    """Collect the runs of the wanted targets, or of all finished targets; yield a line about each target.

    The folder of results is only read. Other runs of the reference are kept if the configuration still requests them.
    With ``older``, runs of other code versions are collected, too, and runs missing from the results may come from the
    reference.
    """
    results, reference, wanted = Path(results), Path(reference), [*wanted]
    for target in wanted:
        plan.target(target)
    exists = (reference / folder.INDEX).exists()
    index = folder.read_index(reference) if exists else {"scale": scale, "rows": {}, "runs_sha256": ""}
    runs, rows = folder.read_runs(reference, index), dict(index["rows"])
    for target in wanted or plan.targets:
        try:
            found = _finished(plan, target, scale, results, runs if older else {}, older=older)
        except NotFinishedError as error:
            kept = "; what the reference holds of it stays" if _is_held(plan, target, scale, runs, rows) else ""
            yield f"{target}: not collected, {error}{kept}"
            continue
        runs |= found
        rows.pop(target, None)
        yield f"{target}: {len(found)} runs"
    kept = {name: run for name, run in runs.items() if name in plan.runs(scale)}
    if len(kept) < len(runs):
        yield f"Removed {len(runs) - len(kept)} runs that the present configuration does not request"
    folder.write(reference, kept, {**index, "rows": rows})


def _is_held(plan: Plan, target: str, scale: str, runs: Collection[str], rows: Collection[str]) -> bool:
    return target in rows or any(run.id in runs for run in plan.runs_of(target, scale))


def _finished(
    plan: Plan, target: str, scale: str, results: Path, kept: Mapping[str, Any], *, older: bool
) -> dict[str, dict[str, Any]]:
    """Return the runs of a target in the form of the reference."""
    found: dict[str, dict[str, Any]] = {}
    planned = plan.runs_of(target, scale)
    if not planned:
        raise NotFinishedError("nothing of it is run at this scale")
    modified = []
    for run in planned:
        place = results / run.folder
        if (place / "record.json").exists():
            record, _ = records.read(place)
            records.check(record, place)
            if record["code"]["dirty"]:
                modified.append(str(place))
            elif not older and not is_current(plan, run, record):
                raise NotFinishedError("some of its runs are of other code or parameters than the present ones")
            found[run.id] = {"record": record, "curve": (place / "curve.csv").read_text(encoding="utf-8")}
            if any(target_entry.compares_by_point(plan.target(name)) for name in run.targets):
                found[run.id]["wrong"] = wrong_points(records.read_outputs(place))
            check_that_nothing_is_private(str(found[run.id]), f"The run {run.folder}", plan.configuration.root)
        elif run.id in kept and folder.is_of(kept[run.id], target):
            found[run.id] = kept[run.id]
    if modified:
        raise NotFinishedError(
            f"{len(modified)} of its runs were made with uncommitted changes. Commit them, and make these runs again: "
            f"rm -r {' '.join(modified)} && snakemake --cores all --config scale={scale} -- {target}"
        )
    if len(found) < len(planned):
        raise NotFinishedError(f"{len(planned) - len(found)} of its {len(planned)} runs are not finished")
    return found


def is_current(plan: Plan, run: PlannedRun, record: Mapping[str, Any]) -> bool:
    """Whether a record has the current code, parameters and data."""
    return job.key_of(plan.job(run), record["data"]["sha256"]) == record["run"]["key"]


def check_that_nothing_is_private(text: str, what: str, root: str | Path) -> None:
    """Refuse a text with the name of a folder of this machine or of the machine."""
    folders = {str(Path(root).resolve()), str(Path.home())} - {"/"}
    words = [rf"(?<![\w.:/]){re.escape(one)}(?![\w-])" for one in sorted(folders)] + [_ROOTS]
    if len(platform.node()) > 5 and platform.node() != "localhost":
        words.append(rf"\b{re.escape(platform.node())}\b")
    found = re.search("|".join(words), text)
    if found:
        place = text[max(0, found.start() - 40) : found.end() + 40]
        raise ShallowsError(f"{what} would reveal a path on this machine, or its name: …{place}…")


def of_the_machine(plan: Plan, target: str) -> list[str]:
    """Return the metrics and claims of a target that depend on machine speed, from ``config/reference.yaml``."""
    path = Path(plan.configuration.root) / "config" / "reference.yaml"
    if not path.exists():
        return []
    named = yaml.safe_load(path.read_text(encoding="utf-8"))["of_the_machine"]
    return among(plan.target(target), [*named["times"], *named["targets"].get(target, ())])


def among(spec: Mapping[str, Any], named: Collection[str]) -> list[str]:
    """Return the named metrics of a target, and its claims that are named or use one of these metrics."""
    defined = {**spec["metrics"], **spec.get("claims", {})}
    return [name for name, one in defined.items() if name in named or one.get("metric") in named]
