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


def test_the_counts_of_verdicts_on_the_pages_are_those_of_the_reference_results():
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "pictures" / "draw.py")
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    targets = draw.targets()
    pages = draw.pages(targets)
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, f"docs/pictures/draw.py writes the present counts into {path}"
    found = {sentence: sum(sentence in text for text in pages.values()) for sentence in draw.counts(targets)}
    assert min(found.values()) > 0 and draw.verdicts(targets) in README, found
    numbers = draw.distances.table(targets, draw.PAPERS)
    judged = {*draw.distances.OUTCOMES, Verdict.DEVIATES, Verdict.REFUTED}
    rows = [row for one in targets for row in one.rows if row.evidence == "number" and row.verdict in judged]
    assert len(numbers) == sum(not row.derived for row in rows), "each judged number is in the picture, reached or not"
