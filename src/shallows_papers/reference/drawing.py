"""The page of a scale drawn from its reference results, with no training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.utils.atomic import write_json
from shallows_papers.experiments.comparing import target_table
from shallows_papers.experiments.comparing.table_rows import Row, write_rows
from shallows_papers.experiments.planning.configuration import summary_paths
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.report import figures, page, tables

from . import compaction, folder


def draw(plan: Plan, scale: str, reference: str | Path, out: str | Path) -> Path:
    """Draw tables, figures and the page of a scale into a folder, and return the page's place.

    Targets that the reference does not hold stand on the page as not run, with the reason.
    """
    out, index = Path(out), folder.read_index(reference)
    held = {target: folder.read_target(reference, target, index) for target in index["targets"]}
    drawn = [_target(plan, scale, index, held.get(target), target, out) for target in plan.targets]
    place = out / "report" / "index.html"
    page.write(
        drawn,
        place,
        sorted(map(str, plan.configuration.folder.glob("papers/*/findings.rst"))),
        summary_paths(plan.configuration),
        origin=f"Drawn from the reference results in the repository, without training: {len(held)} of {len(drawn)} "
        "targets are among them. The others count as not run, and their tables say why.",
    )
    return place


def _target(
    plan: Plan, scale: str, index: Mapping[str, Any], files: folder.TargetFiles | None, target: str, out: Path
) -> tuple[Path, Path | None]:
    """Draw one target; returns the paths of its table and of its figure."""
    table, figure = out / "tables" / f"{target}.csv", out / "figures" / f"{target}.svg"
    if files is not None:
        rows = _with_folders(files, target, out)
        description = dict(files.record["meta"])
        description["notes"] = [*description.get("notes", []), *_notes(index["targets"][target])]
    else:
        reason = f"not among the reference results: {index['not_run'].get(target, 'not collected')}"
        rows, description = without_runs(plan, scale, target, reason)
        known = {"dataset", "method", "metric", *(key for row in rows for key in row.keys)}
        description["layout"] = {
            side: [one for one in axes if one in known] for side, axes in description["layout"].items()
        }
    write_rows(table, rows)
    write_json(table.with_suffix(".json"), description)
    tables.render(table)
    if files is None or not description.get("figure"):
        return table, None
    figures.draw(table, figure)
    return table, figure


def without_runs(plan: Plan, scale: str, target: str, reason: str) -> tuple[list[Row], dict[str, Any]]:
    """The rows of a target of which nothing was run, for a reason, and what describes them."""
    comparison = {**plan.comparison(target, scale), "series": [], "left_out": reason}
    return [*target_table.rows_of(comparison, {})], target_table.describe(comparison, {})


def _with_folders(files: folder.TargetFiles, target: str, out: Path) -> list[Row]:
    """The rows with the folders of their runs, whose records are written there."""
    places = {}
    for run in files.record["runs"]:
        places[run["run"]["id"]] = run["folder"]
        write_json(out / run["folder"] / "record.json", compaction.whole_record(run, files.record, target))
    return [replace(row, records=tuple(places[one] for one in row.records)) for row in files.rows]


def _notes(entry: Mapping[str, Any]) -> Iterator[str]:
    """Where the numbers come from, and what was left out."""
    commits = ", ".join(one[:10] if one else "unknown" for one in entry["commits"])
    changes = ", with changes beside" if entry["with_changes_beside"] else ""
    yield (
        f"Reference results, drawn without training: {entry['runs']} runs by commit {commits}{changes}, on "
        f"{'; '.join(map(target_table.machine_text, entry['machines']))}, finished {str(entry['finished'])[:10]}, "
        f"{entry['seconds']:,.0f} s in all."
    )
    if entry["thinned"] > 1:
        yield f"Of {entry['thinned']} points along a curve the reference keeps one, and the last."
