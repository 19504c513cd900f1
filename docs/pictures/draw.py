#!/usr/bin/env python3
"""Draw docs/pictures/printed_and_measured.png, and write the counts of verdicts into the pages that have them.

All come from results/reference/laptop, so that no count is written by hand: ``.venv/bin/python docs/pictures/draw.py``.
tests/test_front_page.py fails if a page has other counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
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


def counts(every: list[Target]) -> Iterator[str]:
    """Sentences with counts, as the pages have them."""
    numbers = distances.table(every, PAPERS)
    seeds, single, undecided, deviate = distances.counts(numbers).values()
    told = f"{seeds} are reproduced with several seeds, {single} with one seed, {undecided} are undecided and {deviate}"
    yield f"![{len(numbers)} numbers by distance from print]"
    yield f"Of {len(numbers)} numbers {told} deviate."
    yield f"judges {len(numbers)} numbers: {told} deviate."
    of_kinds = counts_by_kind(row for one in every for row in one.rows)
    orders, theorems = ({verdict: n for verdict, (n, _) in of_kinds[kind].items()} for kind in ("order", "theorem"))
    alone = [kind.get(Verdict.ONE_SEED, 0) for kind in (orders, theorems)]
    good = [kind[Verdict.REPRODUCED] + n for kind, n in zip((orders, theorems), alone, strict=True)]
    yield (
        f"{good[0]} orders and {good[1]} theorems are reproduced, {alone[0]} and {alone[1]} of them with one seed; "
        f"{orders[Verdict.DEVIATES]} orders deviate and {orders[Verdict.UNDECIDED]} are undecided; "
        f"{orders[Verdict.REFUTED]} orders and {theorems[Verdict.REFUTED]} theorems are refuted as printed; "
        f"{theorems[Verdict.MISPRINT]} more are misprints"
    )
    yield from headlines.sentences(every, verdict_log.read(ROOT / "config" / verdict_log.NAME))


def pages(every: list[Target]) -> dict[Path, str]:
    """The pages with counts, as they should be."""
    found = {}
    table = re.compile(r"\| paper \| reproduced or agrees.*?(?=\n\n)", re.DOTALL)
    for name in ("README.md", "docs/index.md", "docs/judging.md", "paper/paper.md"):
        text = table.sub(lambda _: verdicts(every), (ROOT / name).read_text(encoding="utf-8"))
        for sentence in counts(every):
            words = (re.sub(r"\d+", r"\\d+", re.escape(word)) for word in sentence.split())
            text = re.sub(r"\s+".join(words), lambda _, sentence=sentence: sentence, text)
        found[ROOT / name] = text
    return found


def main() -> int:
    """Draw and write."""
    every = targets()
    out = Path(__file__).with_name("printed_and_measured.png")
    with matplotlib.rc_context({**seaborn.axes_style("ticks"), **STYLE}):
        distances.draw(distances.table(every, PAPERS)).savefig(out, dpi=150, metadata={"Software": None})
    for path, text in pages(every).items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
