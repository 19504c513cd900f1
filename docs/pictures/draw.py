#!/usr/bin/env python3
"""Draw docs/pictures/printed_and_measured.png and print the table of verdicts that the README has.

Both come from results/reference/laptop, so that nothing in them is written by hand:
``.venv/bin/python docs/pictures/draw.py``; tests/test_front_page.py holds the README to the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import seaborn

from shallows_papers.experiments.comparing import verdict_log
from shallows_papers.experiments.comparing.table_rows import counts_by_kind
from shallows_papers.experiments.comparing.verdicts import CALIBRATED, Verdict
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.reference.held import Reference
from shallows_papers.report import distances, headlines
from shallows_papers.report.sheet import STYLE
from shallows_papers.report.target import Target

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "results" / "reference" / "laptop"
PAPERS = {
    "Diving into the shallows: a computational perspective on large-scale shallow learning": "EigenPro",
    "Scalable kernel methods via doubly stochastic gradients": "Doubly stochastic gradients",
    "Utilize old coordinates: faster doubly stochastic gradients for kernel methods": "Re-used coordinates",
    "Scale up nonlinear component analysis with doubly stochastic gradients": "Kernel component analysis",
    "Large Scale Learning": "The lecture",
}
ABOUT = {
    "EigenPro": "Ma and Belkin 2017: [EigenPro](config/papers/eigenpro/findings.md)",
    "Doubly stochastic gradients": "Dai and others 2014: [doubly stochastic gradients](config/papers/dsg/findings.md)",
    "Re-used coordinates": "Li and Póczos 2016: [re-used coordinates](config/papers/dsg/findings.md)",
    "Kernel component analysis": "Xie and others 2015: [kernel components](config/papers/kpca/findings.md)",
    "The lecture": "Minhas: [lecture](config/papers/lecture/findings.md)",
}
COLUMNS = {
    "reproduced or agrees": (Verdict.REPRODUCED, Verdict.AGREES),
    "reproduced, one seed": (Verdict.ONE_SEED,),
    "undecided": (Verdict.UNDECIDED,),
    "deviates or refuted": (Verdict.DEVIATES, Verdict.REFUTED, Verdict.MISPRINT),
    "not comparable or not run": (Verdict.NOT_COMPARABLE, Verdict.NOT_RUN),
}


def targets() -> list[Target]:
    """All targets: those that the reference holds, and the others with rows that were not run."""
    held = Reference(Plan.load(ROOT), "laptop", REFERENCE)
    return [held.table(name) for name in held.plan.targets]


def verdicts(every: list[Target]) -> str:
    """Printed items by paper and verdict, as a table of Markdown."""
    columns = [*COLUMNS, CALIBRATED]  # the last: how many calibrated numbers are reproduced
    lines = ["| paper | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    calibrated = {one.paper: one.calibrated for one in headlines.by_paper(every, PAPERS)}
    for title, name in PAPERS.items():
        counts = counts_by_kind(row for one in every if one.meta["paper"] == title for row in one.rows)
        kinds = [verdicts for kind, verdicts in counts.items() if kind != CALIBRATED]
        cells = [sum(kind[one][0] for kind in kinds for one in some if one in kind) for some in COLUMNS.values()]
        agreeing, of_all = calibrated.get(name, (0, 0))
        last = f"{agreeing}/{of_all}" if of_all else ""
        lines.append(f"| {ABOUT[name]} | " + " | ".join([*map(str, cells), last]) + " |")
    return "\n".join(lines)


def sentences(every: list[Target]) -> list[str]:
    """Where the judged numbers come from, and when their criteria were set."""
    return headlines.sentences(every, verdict_log.read(ROOT / "config" / verdict_log.NAME))


def main() -> int:
    """Draw and print."""
    every = targets()
    numbers = distances.table(every, PAPERS)
    out = Path(__file__).with_name("printed_and_measured.png")
    with matplotlib.rc_context({**seaborn.axes_style("ticks"), **STYLE}):
        distances.draw(numbers).savefig(out, dpi=150, metadata={"Software": None})
    print(verdicts(every))
    print(f"{len(numbers)} judged numbers: {distances.counts(numbers)}", *sentences(every), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
