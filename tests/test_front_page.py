"""The README: short, its links lead somewhere, and its numbers equal the reference results."""

import importlib.util
import re
from pathlib import Path

import pytest

from shallows import estimators
from shallows_papers.experiments.comparing.verdicts import Verdict

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_read_in_a_minute_or_three():
    assert len(README.split()) < 700


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_a_page_names_no_class_that_does_not_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    begins = {name.removesuffix(end) for name in estimators.__all__ for end in ("Classifier", "Regressor", "Features")}
    of_others = {"KernelRidge", "Nystroem"} if "coming_from" in page else set()  # of scikit-learn
    assert not set(re.findall(r"`([A-Za-z]+)`", text)) & (begins - {*estimators.__all__}) - of_others


def test_the_verdicts_of_the_readme_are_those_of_the_reference_results():
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "pictures" / "draw.py")
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    targets = draw.targets()
    assert draw.verdicts(targets) in README, "docs/pictures/draw.py prints the present table and draws its picture"
    numbers = draw.distances.table(targets, draw.PAPERS)
    judged = {*draw.distances.OUTCOMES, Verdict.DEVIATES, Verdict.REFUTED}
    rows = [row for one in targets for row in one.rows if row.evidence == "number" and row.verdict in judged]
    judging = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    assert all(sentence in judging for sentence in draw.sentences(targets))
    assert len(numbers) == sum(not row.derived for row in rows), "each judged number is in the picture, reached or not"
    seeds, single, undecided, deviate = draw.distances.counts(numbers).values()
    told = f"{seeds} are reproduced with several seeds, {single} with one seed, {undecided} are undecided and {deviate}"
    counts = draw.counts_by_kind(row for one in targets for row in one.rows)
    orders, theorems = ({verdict: n for verdict, (n, _) in counts[kind].items()} for kind in ("order", "theorem"))
    alone = [kind.get(Verdict.ONE_SEED, 0) for kind in (orders, theorems)]
    good = [kind[Verdict.REPRODUCED] + n for kind, n in zip((orders, theorems), alone, strict=True)]
    said = (
        f"{good[0]} orders and {good[1]} theorems are reproduced, {alone[0]} and {alone[1]} of them with one seed; "
        f"{orders[Verdict.DEVIATES]} orders deviate and {orders[Verdict.UNDECIDED]} are undecided; "
        f"{orders[Verdict.REFUTED]} orders and {theorems[Verdict.REFUTED]} theorems are refuted as printed; "
        f"{theorems[Verdict.MISPRINT]} more are misprints"
    )
    assert said in re.sub(r"\s+", " ", (ROOT / "paper" / "paper.md").read_text(encoding="utf-8"))
    for page in ("README.md", "docs/index.md", "paper/paper.md"):
        text = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
        assert f"{told} deviate." in text and f"{len(numbers)} numbers" in text, page
