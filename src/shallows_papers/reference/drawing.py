"""Draw the page of a scale from its reference results, without training."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from shallows.arrays import n_threads
from shallows.utils.atomic import write_json
from shallows_papers.experiments.comparing import target_table, verdict_log
from shallows_papers.experiments.comparing.table_rows import write_rows
from shallows_papers.experiments.planning.configuration import summary_paths
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.report import figures, page, tables
from shallows_papers.report.target import write_text

from .held import Reference, commits_text, facts


def draw(plan: Plan, scale: str, reference: str | Path, out: str | Path, only: Sequence[str] = ()) -> Path:
    """Draw tables, figures and the page of a scale into a folder, and return the page's path.

    ``only`` names the targets of a page without summaries; empty stands for all. Targets without reference results are
    shown as not run, with the reason. As many processes draw as the caller may use threads.
    """
    for target in only:
        plan.target(target)  # an error if there is none
    out, held = Path(out), Reference(plan, scale, reference)
    shown = [target for target in plan.targets if not only or target in only]
    written = [_write_numbers(held, target, out) for target in shown]
    if (n_processes := min(n_threads(), len(shown))) > 1:
        with ProcessPoolExecutor(n_processes, get_context("spawn")) as pool:
            list(pool.map(_render, *zip(*written, strict=True)))
    else:
        for paths in written:
            _render(*paths)
    place, n_held = out / "report" / "index.html", sum(target in held.targets for target in shown)
    page.write(
        written,
        place,
        sorted(map(str, plan.configuration.folder.glob("papers/*/findings.md"))) if not only else (),
        summary_paths(plan.configuration) if not only else (),
        origin=f"Drawn from the reference results in the repository, without training: {n_held} of {len(shown)} "
        "targets are among them. The others count as not run, and their tables say why.",
        log=verdict_log.path_in(plan.configuration.folder),
    )
    return place


def _write_numbers(held: Reference, target: str, out: Path) -> tuple[Path, Path | None]:
    """Write a target's numbers and runs; return the paths of its table and of the figure to draw."""
    table, figure = out / "tables" / f"{target}.csv", out / "figures" / f"{target}.svg"
    made = held.table(target)
    meta, runs = dict(made.meta), held.runs_of(target)
    for run in runs:
        write_json(out / run.folder / "record.json", run.record)
        if stored := held.runs.get(run.record["run"]["id"]):
            write_text(out / run.folder / "curve.csv", stored["curve"])
    if runs:
        meta["notes"] = [*meta["notes"], *_notes(held, target)]
    write_rows(table, made.rows)
    write_json(table.with_suffix(".json"), meta)
    return table, figure if runs and meta["figure"] else None


def _render(table: Path, figure: Path | None) -> None:
    tables.render(table)
    if figure:
        figures.draw(table, figure)


def _notes(held: Reference, target: str) -> Iterator[str]:
    """Yield notes about the origin of the numbers."""
    found = facts(run.record for run in held.runs_of(target))
    commits = commits_text(found).replace(" with changes", ", with uncommitted changes")
    yield (
        f"Reference results, drawn without training: {found['runs']} runs by commit {commits}, on "
        f"{'; '.join(map(target_table.machine_text, found['machines']))}, finished {str(found['finished'])[:10]}, "
        f"{found['seconds']:,.0f} s in all."
    )
    if target in held.index["rows"] and (every := held.index["rows"][target]["thinned"]) > 1:
        yield f"Of {every} points along a curve the reference keeps one, and the last."
