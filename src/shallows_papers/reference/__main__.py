"""``python -m shallows_papers.reference COMMAND --scale SCALE [TARGET ...]``; ``--help`` lists the commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows_papers.experiments.planning.configuration import SCALES, load
from shallows_papers.output import reader_may_leave

if TYPE_CHECKING:
    from shallows_papers.experiments.planning.plan import Plan

#: Folder of the reference results, relative to the project.
REFERENCE = Path("results/reference")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 1 if a number drifted or nothing could be compared, and 2 for what cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m shallows_papers.reference", description=__doc__)
    parser.add_argument("command", choices=("check", "collect", "crate", "findings", "list", "log", "report", "verify"))
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="targets (default: all)")
    parser.add_argument("--scale", choices=SCALES, default=SCALES[0])
    parser.add_argument("--results", type=Path, help="folder of results (default: from the configuration)")
    parser.add_argument("--reference", type=Path, default=REFERENCE, help="(default: %(default)s)")
    parser.add_argument("--older", action="store_true", help="collect runs of other code versions, too")
    parser.add_argument("--out", type=Path, help="folder of a crate (default: crate/<scale> next to the results)")
    parser.add_argument("--agent", help="who ran the workflow, for the crate")
    parser.add_argument("--reason", help="why something changed, for the log")
    options = parser.parse_intermixed_args(arguments)
    if options.command == "log" and not options.reason:
        parser.error("log needs a reason: --reason 'why criteria, settings or verdicts changed'")
    try:
        with reader_may_leave():
            return _run(options)
        return 0
    except ShallowsError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    from shallows_papers.experiments.planning.plan import Plan

    results = (options.results or Path(load(".", {}).settings["results"])) / options.scale
    reference = options.reference / options.scale
    # The reference is judged and drawn in the same way for any installed extras.
    plan = Plan.load(".", deployed=options.command != "collect" or options.older)
    if options.command == "check":
        from .verdict_checks import problems

        found = [*problems(plan, options.reference)]
        print(*(found or ["The reference and its log are complete."]), sep="\n")
        return 1 if found else 0
    if options.command == "verify":
        from . import agreement
        from .held import Reference

        held = Reference(plan, options.scale, reference)
        verified = agreement.verify(held, results, options.targets)
        print(*agreement.report(verified, held), sep="\n")
        agreement.write_csv(verified, results / "verification.csv")
        print(f"Every number: {results / 'verification.csv'}")
        return 0 if verified.holds else 1
    for line in _do(options, plan, results, reference):
        print(line, flush=True)
    return 0


def _do(options: argparse.Namespace, plan: Plan, results: Path, reference: Path) -> Iterable[str]:
    """Run a command; return its output lines, some of them while it works."""
    if options.command == "report":
        from .drawing import draw

        page = draw(plan, options.scale, reference, results / "reference", options.targets)
        return [f"The report: {page.resolve()}"]
    if options.command == "crate":
        from . import crate

        out = options.out or results.parent / "crate" / options.scale
        return [f"The crate: {crate.write(plan, options.scale, results, out, options.agent).resolve()}"]
    if options.command == "collect":
        from .collection import collect

        return collect(plan, options.scale, results, reference, options.targets, older=options.older)
    from .held import Reference

    if options.command == "findings":
        from . import findings

        return findings.write(plan.configuration.folder / "papers", findings.tables(plan, options.reference))
    if options.command == "log":
        from shallows_papers.experiments.comparing import verdict_log as log

        from . import verdict_checks

        held = Reference(plan, log.SCALE, options.reference / log.SCALE)
        path = plan.configuration.folder / log.NAME
        return log.append(path, verdict_checks.log_values(held), options.reason, options.targets)
    return Reference(plan, options.scale, reference).lines()


if __name__ == "__main__":
    sys.exit(main())
