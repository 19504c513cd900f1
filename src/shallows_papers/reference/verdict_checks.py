"""What ``make lint`` checks of the reference: requested runs of committed code, and a log of every change."""

from collections.abc import Iterator
from pathlib import Path

from shallows_papers.experiments.comparing import verdict_log as log
from shallows_papers.experiments.planning import target_entry
from shallows_papers.experiments.planning.configuration import SCALES
from shallows_papers.experiments.planning.plan import Plan

from . import findings, folder
from .held import Reference


def problems(plan: Plan, place: Path) -> Iterator[str]:
    """Yield a sentence for each problem of the sources of settings, and of the reference in a folder and its log."""
    yield from of_sources(plan)
    for scale in (scale for scale in SCALES if (place / scale / folder.INDEX).exists()):
        held = Reference(plan, scale, place / scale)
        yield from of_runs(held)
        if scale == log.SCALE:
            papers = plan.configuration.folder / "papers"
            for path, _ in findings.stale(papers, findings.tables(plan, place)):
                yield f"{path} is not what its template gives: python -m shallows_papers.reference findings"
            yield from log.unlogged(log.read(plan.configuration.folder / log.NAME), log_values(held))


def of_sources(plan: Plan) -> Iterator[str]:
    """Yield a sentence for each method of a paper that has settings without a source."""
    for target, spec in plan.targets.items():
        for word, entry in spec["methods"].items():
            missing = target_entry.without_source(word, spec, plan.configuration.methods[entry["method"]])
            if missing and "ours" not in entry:
                yield f"The settings {', '.join(missing)} of {word} in {target} have no source."


def of_runs(held: Reference) -> Iterator[str]:
    """Yield a sentence for each run that no configuration requests or that was made with uncommitted changes."""
    for name in held.unrequested:
        yield f"The run {name} of the reference {held.scale} is requested by no target. Collect its target again."
    for name, run in held.runs.items():
        if run["record"]["code"]["dirty"]:
            yield f"The run {name} of the reference {held.scale} was made with uncommitted changes. Run it again."


def log_values(held: Reference) -> dict[log.Key, str]:
    """Return the present criteria, settings and verdicts, as the log has them."""
    found: dict[log.Key, str] = {}
    for target in held.plan.targets:
        found |= log.entries_of(target, held.plan.target(target))
        found |= log.verdicts_of(held.table(target).rows)
    return found
