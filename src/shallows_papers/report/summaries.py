"""The papers in short: what each paper claims, what was measured here, and the most important numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdicts import AGREEING, Verdict

from . import wording
from .pivot import without_size, writer
from .target import Target
from .wording import name_of, quantity

#: The standard questions of reproduction reports about each paper, by the keys of its file.
REVIEW = {
    "scope": "Scope",
    "easy": "What was easy",
    "difficult": "What was difficult",
    "settled": "What the authors' code settled",
}

_PLACE = re.compile(r"\{(?P<name>\w+)(?:\.(?P<part>printed|data))?\}")


@dataclass(frozen=True)
class Headline:
    """One of the most important numbers of a paper, as texts."""

    label: str
    target: Target  # whose table has it
    verdict: Verdict
    reason: str
    printed: str = ""  # as the paper prints it, with its unit; a number or text
    measured: str = ""  # with its unit; empty if it was not measured
    spread: str = ""  # standard deviation over the repetitions; empty for a single one
    data: str = ""  # the data on which it is measured
    reached: bool = True  # False if no run reached the event that is counted, so that there is no number


@dataclass(frozen=True)
class Claim:
    """The main claim of a paper."""

    text: str
    verdict: str  # as text, see `in_words`
    counts: Mapping[Verdict, int]  # of the printed rows that decide it
    targets: tuple[Target, ...]  # whose tables have these rows
    measured: str = ""  # at the demo scale: the measured values and their limits


@dataclass(frozen=True)
class PaperSummary:
    """The summary of a paper."""

    name: str
    page: str  # name of its file in the report
    title: str
    citation: str
    claimed: str
    claim: Claim
    #: headings and texts: scope, what was easy, what was difficult, what the code settled
    review: tuple[tuple[str, str], ...]
    #: sentences in pieces, with True for measured numbers; a sentence without its measured number is left out
    found: tuple[tuple[tuple[str, bool], ...], ...]
    numbers: tuple[Headline, ...]
    picture: Target | None  # None if nothing of it was measured

    @property
    def sentence(self) -> str:
        """What the runs say of the central claim, in a line."""
        values = f" ({self.claim.measured})" * bool(self.claim.measured)
        return f"{self.name}: {self.claim.verdict}. {self.claim.text.rstrip('.')}{values}."


def read(paths: Iterable[str | Path], targets: Mapping[str, Target]) -> list[PaperSummary]:
    """Read the summaries in the order of their ``place``, with the numbers in the tables."""
    import yaml

    given = [yaml.safe_load(Path(path).read_text(encoding="utf-8")) for path in paths]
    for one in given:
        rows = [*one["numbers"].values(), *one["ledger"]["rows"], *one["ledger"].get("demo", {"rows": ()})["rows"]]
        for name in (one["picture"], *(row["target"] for row in rows)):
            if name not in targets:
                raise UnknownNameError("target", name, targets)
    return [_summary(one, targets) for one in sorted(given, key=lambda one: one["place"])]


def _summary(given: Mapping[str, Any], targets: Mapping[str, Target]) -> PaperSummary:
    headlines = {name: _headline(one, targets[one["target"]]) for name, one in given["numbers"].items()}
    picture, ledger = targets[given["picture"]], given["ledger"]
    named, found = _rows(ledger, targets)
    counts = Counter(row.verdict for row in found if row.published)
    claim = Claim(ledger["claim"], in_words(counts), {one: counts[one] for one in Verdict if one in counts}, named)
    if picture.scale == "demo" and "demo" in ledger:
        claim = _demo_claim(ledger["demo"], targets)
    return PaperSummary(
        name=given["name"],
        page=f"{given['paper']}.html",
        title=str(picture.meta.get("paper", "")),
        citation=str(picture.meta.get("citation", "")),
        claimed=given["claimed"],
        claim=claim,
        review=tuple((heading, given[key]) for key, heading in REVIEW.items()),
        found=tuple(filter(None, (_filled(sentence, headlines) for sentence in given["found"]))),
        numbers=tuple(headlines.values()),
        picture=picture if picture.has_picture else None,
    )


def _rows(given: Mapping[str, Any], targets: Mapping[str, Target]) -> tuple[tuple[Target, ...], list[Row]]:
    named = tuple(targets[one["target"]] for one in given["rows"])
    return named, [row for one, of in zip(given["rows"], named, strict=True) for row in find(of.rows, one["where"])]


def _demo_claim(given: Mapping[str, Any], targets: Mapping[str, Target]) -> Claim:
    """Return the form of a claim that small data can decide: measured values within limits."""
    named, found = _rows(given, targets)
    values = [row.measured_mean for row in found if row.measured_mean is not None]
    least, most = given.get("at_least", -math.inf), given.get("at_most", math.inf)
    within = sum(least <= value <= most for value in values)
    words = {0: "does not hold on the demo's data", len(values): "holds on the demo's data"}
    verdict = words.get(within, "holds on part of the demo's data") if values else "not run"
    limits = [f"at {word} {number:g}" for word, number in (("least", least), ("most", most)) if math.isfinite(number)]
    measured = ", ".join(f"{round(value, 2) + 0.0:g}" for value in values)
    text = f"measured {measured}; needed {' and '.join(limits)}" if values else ""
    return Claim(given["claim"], verdict, {}, named, text.replace("-", "−"))


def in_words(verdicts: Iterable[Verdict]) -> str:
    """Say what the verdicts on its rows mean for a claim; decisive verdicts come before the others."""
    given = set(verdicts)
    for_it, against = given & {*AGREEING}, given & {Verdict.DEVIATES, Verdict.REFUTED, Verdict.MISPRINT}
    if for_it or against:
        word = "holds in part" if for_it and against else "holds" if for_it else "does not hold"
        return word + (", as far as the runs decide" if Verdict.UNDECIDED in given else "")
    undecided = {
        Verdict.UNDECIDED: "the runs do not decide",
        Verdict.NOT_COMPARABLE: "cannot be judged on the data of this scale",
    }
    return next((text for verdict, text in undecided.items() if verdict in given), "not run at this scale")


def _filled(sentence: str, headlines: Mapping[str, Headline]) -> tuple[tuple[str, bool], ...]:
    pieces, end = [], 0
    for place in _PLACE.finditer(sentence):
        if place["name"] not in headlines:
            raise UnknownNameError("number", place["name"], headlines)
        number = headlines[place["name"]]
        if not number.measured:
            return ()
        pieces += [
            (sentence[end : place.start()], False),
            (getattr(number, place["part"] or "measured"), place["part"] is None),
        ]
        end = place.end()
    return (*pieces, (sentence[end:], False))


def _headline(given: Mapping[str, Any], target: Target) -> Headline:
    rows = [row for row in find(target.rows, given["where"]) if row.published]
    if len(rows) > 1:
        raise ShallowsError(f"{len(rows)} printed rows of {target.id} fit {given['where']}; one is wanted.")
    if not rows:
        return Headline(given["label"], target, Verdict.NOT_RUN, "the table has no such row at this scale")
    [row] = rows
    write = writer(target, row.metric)
    mean, is_finite = "", row.measured_mean is None or math.isfinite(row.measured_mean)
    if row.measured_mean is not None:
        mean = wording.mean_beside(row.measured_mean, row.measured_sd, write) if is_finite else without_size(row)
    return Headline(
        given["label"],
        target,
        row.verdict,
        row.reason,
        printed=quantity(row.published, row.unit),
        measured=quantity(mean, row.unit) if is_finite else mean,
        spread=wording.spread(mean, row.measured_sd, write) if mean and (row.measured_sd or 0.0) > 0 else "",
        data=name_of(target, "dataset", row.dataset),
        reached=row.passed != 0,
    )


def find(rows: Sequence[Row], where: Mapping[str, str | Sequence[str]]) -> list[Row]:
    """Return the rows whose keys have the requested values; a list allows any of its values.

    A dataset is given by its own name, without the paper's word that may follow it in brackets.
    """

    def fits(row: Row, key: str, wanted: str | Sequence[str]) -> bool:
        value = row.keys.get(key, "")
        if key == "dataset":
            value = value.removesuffix(f" ({'; '.join(row.printed_data)})")
        return value in ([wanted] if isinstance(wanted, str) else wanted)

    return [row for row in rows if all(fits(row, key, wanted) for key, wanted in where.items())]
