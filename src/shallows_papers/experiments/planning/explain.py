"""Explain a target: its data, its parameters, its cost, and how much of it is done.

``python -m shallows_papers.experiments.planning.explain TARGET [--scale SCALE]``
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.utils.progress import duration
from shallows_papers.datasets.listing import size_of
from shallows_papers.output import reader_may_leave

from ..setting_text import format_setting
from . import target_entry
from .configuration import SCALES
from .plan import Plan
from .runs import PlannedRun, Series


def explain(plan: Plan, target: str, scale: str) -> Iterator[str]:
    """Yield lines that explain a target at a scale, with times on two cores."""
    spec, runs = plan.target(target), plan.runs_of(target, scale)
    settings = plan.configuration.settings
    results = Path(settings["results"]) / scale
    yield f"{target}: {spec['title']}"
    yield f"{plan.configuration.papers[spec['paper']]['citation']}; {spec['source']}"
    yield f"scale {scale}, device {settings['device']}, memory {settings['memory'] or 'a share of what is free'}"
    yield ""
    yield "Data"
    absent = plan.absent(target, scale)
    for word, data in spec["scales"][scale]["data"].items():
        yield f"  {word}: " + (f"not run: {absent[word]}" if word in absent else _data(plan, data))
    yield ""
    yield "Runs"
    for series, members in _distinct(plan, target, scale):
        first = members[0]
        finished = [run for run in members if (results / run.folder / "record.json").exists()]
        state = f"{len(finished)} of {len(members)} done"
        seeds = ", ".join(map(str, dict.fromkeys(run.seed for run in members)))
        setting = f" [{format_setting(series.setting)}]" if series.setting else ""
        yield f"  {series.method} on {series.data}{setting}, seeds {seeds}: {state}"
        label = plan.configuration.methods[first.method]["label"]
        yield f"    {first.method} ({label}): {', '.join(f'{name}={one}' for name, one in first.parameters.items())}"
        if finished:
            record = json.loads((results / finished[0].folder / "record.json").read_text(encoding="utf-8"))
            chosen = {
                name: f"{one:.4g}" if isinstance(one, float) else one for name, one in record["effective"].items()
            }
            if "diverged" in record:
                yield f"    diverged: {record['diverged']}"
            yield f"    effective: {', '.join(f'{name}={one}' for name, one in chosen.items())}"
        asked = {mark for group in spec["scales"][scale]["runs"] for mark in target_entry.marks(group)}
        at: dict[tuple[float, ...], list[int]] = {}
        for run in members:
            at.setdefault(run.marks, []).append(run.seed)
        for marks, seeds_there in at.items():
            if marks:
                which = "" if len(at) == 1 else f" with seeds {', '.join(map(str, dict.fromkeys(seeds_there)))}"
                shared = ", in runs that other targets share" if set(marks) - asked else ""
                yield f"    evaluated after {', '.join(map(str, marks))} {first.unit or spec['mark']}{which}{shared}"
        yield f"    about {duration(max(1, first.cost.seconds))} and {size_of(first.cost.memory_bytes)} each"
    artifacts = {run.preconditioner.id: run.preconditioner for run in runs if run.preconditioner}
    yield ""
    yield "Cost (a rough estimate: half of the times are within a factor of 3; memory is estimated high)"
    seconds = sum(run.cost.seconds for run in runs) + sum(one.cost.seconds for one in artifacts.values())
    if artifacts:
        yield f"  {len(artifacts)} preconditioners"
    yield f"  {len(runs)} runs, about {duration(max(1, seconds))} in all on two cores"
    yield f"  at most {size_of(max((run.cost.memory_bytes for run in runs), default=0))} of memory in one process"
    yield ""
    yield "Leaves"
    yield f"  {results}/tables/{target}.csv (and .json, .md, .html)"
    if target in plan.figures:
        yield f"  {results}/figures/{target}.svg (and .png)"
    yield f"  Run it: snakemake --cores all {results}/tables/{target}.csv"


def _distinct(plan: Plan, target: str, scale: str) -> Iterator[tuple[Series, list[PlannedRun]]]:
    """Yield the series of a target with their runs, each run once; series that differ only in seeds and marks join."""
    joined: dict[str, tuple[Series, dict[str, PlannedRun]]] = {}
    for series in plan.series(target, scale):
        runs = {run: plan.runs(scale)[run] for run in series.run_ids}
        same = json.dumps([series.data, series.method, series.setting, series.parameters], default=str)
        joined.setdefault(same, (series, {}))[1].update(runs)
    return ((series, [*runs.values()]) for series, runs in joined.values())


def _data(plan: Plan, data: dict[str, Any]) -> str:
    variants = target_entry.variants(data)
    entry, size = plan.catalogue[data["dataset"]], plan.size(data["dataset"], variants[0])
    points = f"{size.n_train:,} training and {size.n_test:,} test points, {size.n_features} features"
    description = f"{entry.title} ({data['dataset']}, {entry.state}), {points}"
    titles = "; ".join(plan.configuration.variants[variant]["title"] for variant in variants)
    folder = Path(plan.configuration.settings["data"])
    if all((folder / "prepared" / data["dataset"] / variant / "prepared.json").exists() for variant in variants):
        state = "prepared"
    elif (folder / "raw" / data["dataset"] / "verified.json").exists():
        state = "here, to be prepared"
    elif entry.state == "embedded":
        state = "in the repository, to be prepared"
    elif entry.state == "generated":
        state = "to be generated"
    elif all(file.size for file in entry.files):
        state = f"to be downloaded ({size_of(sum(file.size for file in entry.files))})"
    else:
        state = "to be downloaded (how much is not known)"
    return f"{description}; {titles}; {state}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="explain", description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", help="a target; without one, all are listed")
    parser.add_argument("--scale", help=", ".join(SCALES))
    options = parser.parse_args(arguments)
    try:
        with reader_may_leave():
            _print(options)
    except ShallowsError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


def _print(options: argparse.Namespace) -> None:
    plan = Plan.load(".")
    scale = options.scale or plan.configuration.settings["scale"]
    if not options.target:
        for name, spec in plan.targets.items():
            print(f"{name}: {spec['title']} ({spec['source']})")
        return
    print("\n".join(explain(plan, options.target, scale)))


if __name__ == "__main__":
    sys.exit(main())
