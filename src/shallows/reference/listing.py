"""What the reference holds of a scale, as a table in Markdown: time, code, machine and day of each target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shallows.experiments.comparing.target_table import machine_text

from . import folder


def lines(index: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table by `folder.read_index`, with a row for each target, those that were not run last."""
    machines = folder.distinct(machine for entry in index["targets"].values() for machine in entry["machines"])
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
