"""Findings with numbers from the reference: ``findings.template.md`` of a paper becomes its ``findings.md``.

A number is written as ``{target: key=value; key=value}``, which names one row of a table of the laptop scale, and
as ``{target@demo: ...}`` for a row of the demo. It becomes the row's mean with the digits of the printed numbers. After
a bar follows another form: ``| .2`` for two decimals, ``| x1e4 .1`` for a multiple, and ``printed``, ``low``, ``high``,
``min``, ``max``, ``sd``, ``ratio`` or ``times`` (the mean over the printed number) for another number of the row.
``judged``, ``agreeing``, ``undecided``, ``within`` and ``outside`` count printed numbers of several rows, the last two
by their means and margins; a value may then be several, as in ``epochs=80 or 160``.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from shallows.errors import ShallowsError
from shallows.utils.atomic import replacing
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdict_log import SCALE
from shallows_papers.experiments.comparing.verdicts import AGREEING, Verdict
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.setting_text import parse_setting
from shallows_papers.report.headlines import JUDGED
from shallows_papers.report.pivot import writer
from shallows_papers.report.target import Target

from .held import Reference

TEMPLATE, FINDINGS = "findings.template.md", "findings.md"
_PLACE = re.compile(r"\{(?P<target>[a-z][a-z0-9_@]+):\s*(?P<where>[^|{}]+?)\s*(?:\|\s*(?P<form>[^{}]+?)\s*)?\}")


def tables(plan: Plan, reference: Path) -> Callable[[str], Target]:
    """Return a function that returns the table of a target, or of ``target@scale``."""
    held = functools.cache(lambda scale: Reference(plan, scale, reference / scale))

    def table(name: str) -> Target:
        target, _, scale = name.partition("@")
        return held(scale or SCALE).table(target)

    return table


def fill(text: str, table: Callable[[str], Target]) -> str:
    """Return the text with its numbers; raise an error for a number that no result has."""
    return _PLACE.sub(lambda place: _number(" ".join(place[0].split()), place, table(place["target"])), text)


def stale(papers: Path, table: Callable[[str], Target]) -> Iterator[tuple[Path, str]]:
    """Yield each file of findings that is not what its template gives, with the text that it should have."""
    for template in sorted(papers.glob(f"*/{TEMPLATE}")):
        path, text = template.with_name(FINDINGS), fill(template.read_text(encoding="utf-8"), table)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield path, text


def write(papers: Path, table: Callable[[str], Target]) -> Iterator[str]:
    """Write the files of findings that are stale; yield a line about each."""
    for path, text in stale(papers, table):
        with replacing(path) as partial:
            partial.write_text(text, encoding="utf-8")
        yield f"Written: {path}"


#: Counts of judged rows, by the word that asks for them.
_COUNTS: dict[str, Callable[[Row], bool]] = {
    "judged": lambda row: True,
    "agreeing": lambda row: row.verdict in AGREEING,
    "undecided": lambda row: row.verdict == Verdict.UNDECIDED,
    "within": lambda row: _is_within(row),
    "outside": lambda row: not _is_within(row),
}


def _is_within(row: Row) -> bool:
    """Whether the mean of a judged number lies within its margin."""
    if None in (row.measured_mean, row.published_value, row.margin):
        return False
    return abs(row.measured_mean - row.published_value) <= row.margin * (1.0 + 1e-9)


def _number(place: str, parts: re.Match[str], target: Target) -> str:
    where = {key: text.split(" or ") for key, text in parse_setting(" ".join(parts["where"].split())).items()}
    rows, form = [row for row in target.rows if _fits(row, where)], (parts["form"] or "").split()
    if form and form[0] in _COUNTS:
        judged = [row for row in rows if row.verdict in JUDGED and row.published]
        if not judged:
            raise ShallowsError(f"No result has the numbers {place} of the findings.")
        return str(sum(map(_COUNTS[form[0]], judged)))
    if len(rows) != 1:
        raise ShallowsError(f"{place} in the findings fits {len(rows)} results; it must fit one.")
    [row] = rows
    own = {
        **{"printed": row.published_value, "sd": row.measured_sd, "low": row.low, "high": row.high, "ratio": row.ratio},
        **{"min": min(row.values, default=None), "max": max(row.values, default=None)},
        "times": row.measured_mean / row.published_value if row.measured_mean and row.published_value else None,
    }
    value = next((own[word] for word in form if word in own), row.measured_mean)
    if value is None:
        raise ShallowsError(f"The result of {place} in the findings has no number of this kind.")
    if form == ["printed"]:
        return row.published
    factor = next((float(word[1:]) for word in form if word.startswith("x")), 1.0)
    digits = next((int(word[1:]) for word in form if word.startswith(".")), None)
    text = writer(target, row.metric)(value * factor) if digits is None else f"{value * factor:,.{digits}f}"
    return text.replace("-", "−")


def _fits(row: Row, where: Mapping[str, list[str]]) -> bool:
    dataset = row.dataset.removesuffix(f" ({'; '.join(row.printed_data)})")
    keys = {**row.keys, "dataset": dataset, "series": row.series or "paper"}
    return all(keys.get(key, "") in wanted for key, wanted in where.items())
