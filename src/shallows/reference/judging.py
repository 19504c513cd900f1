"""Reference results judged anew by the present criteria, from their means and deviations: no run is needed."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows.experiments.comparing import cells, claims, target_table, uncertainty, verdicts
from shallows.experiments.comparing.evaluations import RunResult
from shallows.experiments.comparing.rows import Rows, dataset_name
from shallows.experiments.planning.plan import Plan
from shallows.experiments.running.record import SCHEMA_VERSION
from shallows.experiments.setting_text import parse_setting

from . import compaction, folder

#: Verdicts that a criterion can have given.
DECIDED = (verdicts.REPRODUCED, verdicts.BETTER, verdicts.AGREES, verdicts.DEVIATES, verdicts.UNDECIDED)

_NEVER_PASSED = re.compile(r"not reached in \d+ of \d+ runs")


def judge(plan: Plan, scale: str, reference: str | Path, wanted: Iterable[str] = ()) -> Iterator[str]:
    """Give rows of the reference the verdicts, and targets the words, of the present configuration.

    A criterion that changed needs no run to be made again where it judges a mean over repetitions, or a level that no
    run passed. What these do not tell (lower bounds, a criterion for every single repetition, a value that is not
    finite) stays as collected, and so does what a changed configuration would measure otherwise: a claim that is
    computed in another way gets another name.

    Parameters
    ----------
    plan : Plan
    scale : str
    reference : path
        Folder of the reference results of this scale.
    wanted : iterable of str
        Targets; all that are there where none is named.

    Yields
    ------
    str
        A line for each row whose verdict changed.
    """
    reference = Path(reference)
    index = folder.read_index(reference)
    for target in [*wanted] or [*index["targets"]]:
        plan.target(target)
        files, comparison = folder.read_target(reference, target, index), plan.comparison(target, scale)
        rows = judged_anew(comparison, files)
        for old, new in zip(files.rows, rows, strict=True):
            if old["verdict"] != new["verdict"]:
                place = ", ".join(filter(None, (new["dataset"], new["method"], new["setting"], new["metric"])))
                yield f"{target} ({place}): {old['verdict']} before, {new['verdict']} now"
        record = {**files.record, "meta": described_anew(comparison, files, rows)}
        if rows != files.rows or record != files.record:
            index["targets"][target] |= folder.write_target(reference, target, rows, record)
    folder.write_index(reference, index)


def judged_anew(comparison: Mapping[str, Any], files: folder.TargetFiles) -> list[dict[str, str]]:
    """The rows of a target with the verdicts of the present criteria."""
    runs = _runs(comparison, files)
    return [_row(comparison, row, [runs[one] for one in row["records"].split(";") if one]) for row in files.rows]


def described_anew(
    comparison: Mapping[str, Any], files: folder.TargetFiles, rows: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    """What a target's record says for the page, in the present words; what its runs told stays."""
    meta = target_table.describe(comparison, {}, rows)
    return {**meta, **{key: files.record["meta"][key] for key in ("label", "marks") if key in files.record["meta"]}}


def _runs(comparison: Mapping[str, Any], files: folder.TargetFiles) -> dict[str, RunResult]:
    records = {
        run["run"]["id"]: compaction.whole_record(run, files.record, comparison["target"], SCHEMA_VERSION)
        for run in files.record["runs"]
    }
    return {one: RunResult(one, record, {}) for one, record in records.items()}


def _row(comparison: Mapping[str, Any], row: Mapping[str, str], runs: Sequence[RunResult]) -> dict[str, str]:
    spec = comparison["spec"]
    claim, metric = spec.get("claims", {}).get(row["metric"]), spec["metrics"].get(row["metric"])
    printed, kind = _printed(comparison, row), (claim or metric or {}).get("evidence")
    if printed is None or kind not in (*verdicts.KINDS, verdicts.DERIVED):
        return dict(row)
    if claim is not None:
        return _row_of_claim(comparison, row, runs, claim, printed)
    return _row_of_cell(comparison, row, runs, metric, printed)


def _row_of_claim(
    comparison: Mapping[str, Any],
    row: Mapping[str, str],
    runs: Sequence[RunResult],
    claim: Mapping[str, Any],
    printed: Mapping[str, str],
) -> dict[str, str]:
    number, rows = _number(comparison, row, runs, claim), Rows(comparison)
    if number is None or claim.get("every_seed"):
        return dict(row)
    margin, interval = None, claims.interval_of(claim, number.values)
    if "tolerance" in claim:
        margin = uncertainty.margin(printed["published"], claim["tolerance"], number.values, runs, printed["spread"])
    if claim.get("counted_on") and row["low"]:
        interval = float(row["low"]), float(row["high"])  # which counts points besides the repetitions
    verdict, reason = claims.judgement_of(rows, claim, number, printed, runs, margin, interval)
    new = rows.row(
        *(number.word, row["method"], number.setting, row["metric"]),
        (verdict, "; ".join(filter(None, (reason, number.without)))),
        *(printed, number.values, runs),
        tolerance=verdicts.criterion_of(claim) if claim["evidence"] in verdicts.KINDS else "",
        margin=margin,
        interval=interval,
    )
    limits = {} if row["low"] and interval is not None else {name: new[name] for name in ("low", "high")}
    return _changed(row, new) | _as_written(limits)


def _number(
    comparison: Mapping[str, Any], row: Mapping[str, str], runs: Sequence[RunResult], claim: Mapping[str, Any]
) -> claims.Number | None:
    """The number of a claim as far as its row tells it, or None."""
    word, setting, reason = _word(comparison, row["dataset"]), parse_setting(row["setting"]), row["reason"]
    series = [{"data": word, "method": row["method"]}]
    never_passed = _NEVER_PASSED.search(reason)
    if row["measured_mean"] == "":
        alone = not {"over", "less", "across"} & set(claim)
        if never_passed is None or not alone:
            return None
        (own,) = [one for one in comparison["series"] if _answers(one, word, row["method"], setting)]
        return claims.Number(series, setting, [], never_passed=never_passed[0], end=claims.last_mark(own))
    told = math.isfinite(float(row["measured_mean"])) or ("censored" in claim and row["measured_mean"] == "inf")
    if row["verdict"] not in DECIDED or not told or "at least this:" in reason:
        return None
    without = reason[reason.index("without ") :] if "; without " in reason else ""
    values = values_of(float(row["measured_mean"]), float(row["measured_sd"] or 0.0), _repetitions(row, runs))
    if without and not claims.decides_without_rest(claim, float(row["measured_mean"])):
        return claims.Number(series, setting, [], never_passed=without.removeprefix("without "))
    return claims.Number(series, setting, values, without=without)


def _row_of_cell(
    comparison: Mapping[str, Any],
    row: Mapping[str, str],
    runs: Sequence[RunResult],
    metric: Mapping[str, Any],
    printed: Mapping[str, str],
) -> dict[str, str]:
    published = cells.number_in(printed["published"])
    told = row["measured_mean"] != "" and math.isfinite(float(row["measured_mean"]))
    if published is None or not told or row["verdict"] not in (*DECIDED, verdicts.NOT_COMPARABLE):
        return dict(row)
    if _NEVER_PASSED.search(row["reason"]) or "not reached within" in row["reason"]:
        return dict(row)
    word, setting, rows = _word(comparison, row["dataset"]), parse_setting(row["setting"]), Rows(comparison)
    measured, rule = float(row["measured_mean"]), metric.get("tolerance", {})
    values = values_of(measured, float(row["measured_sd"] or 0.0), _repetitions(row, runs))
    margin = uncertainty.margin(printed["published"], rule, values, runs, printed["spread"])
    (series,) = [one for one in comparison["series"] if _answers(one, word, row["method"], setting)]
    unlike = cells.unlike(rows, metric, series, runs)
    verdict = verdicts.judge(published, measured, margin, cells.good_side(metric, row["method"]))
    new = rows.row(
        *(word, row["method"], setting, row["metric"]),
        (verdicts.NOT_COMPARABLE, unlike) if unlike else (verdict, ""),
        *(printed, values, runs),
        tolerance=verdicts.criterion_of(metric) if rule else "",
        margin=margin,
    )
    return _changed(row, new)


def _changed(row: Mapping[str, str], new: Mapping[str, Any]) -> dict[str, str]:
    """A row with the verdict of another and what the paper prints, and its own measured numbers."""
    names = ("verdict", "reason", "tolerance", "fixed", "margin", "evidence", "item", "derived", "published")
    measured = {"measured_mean": "", "measured_sd": ""} if new["verdict"] == verdicts.NOT_RUN else {}
    return {**row, **measured, **_as_written({name: new[name] for name in names})}


def _answers(series: Mapping[str, Any], word: str, method: str, setting: Mapping[str, Any]) -> bool:
    """Whether a row's data, method and setting are of a series; a row may tell its point as well."""
    own = {axis: str(value) for axis, value in series["setting"].items()}
    told = {axis: str(value) for axis, value in setting.items()}
    return series["data"] == word and series["method"] == method and own.items() <= told.items()


def values_of(mean: float, deviation: float, n: int) -> list[float]:
    """Values that have a mean and a standard deviation; which ones does not matter to what is computed from the two."""
    if n < 2 or not math.isfinite(mean):
        return [mean]
    apart = deviation * math.sqrt((n - 1) / 2.0)
    return [mean - apart, mean + apart, *[mean] * (n - 2)]


def _repetitions(row: Mapping[str, str], runs: Sequence[RunResult]) -> int:
    """Over how many repetitions a row's mean is: parts of the data times seeds of its first method."""
    if not row["measured_sd"]:
        return 1
    return len({run.repetition for run in runs})


def _printed(comparison: Mapping[str, Any], row: Mapping[str, str]) -> Mapping[str, str] | None:
    """The row of the published file beside which a row stands."""
    if row["published"] == "":
        return None
    setting, named = parse_setting(row["setting"]), []
    for one in comparison["published"]:
        same = one["metric"] == row["metric"] and one["method"] in ("", row["method"])
        here = one["dataset"] in ("", _word(comparison, row["dataset"]))
        told = {key: str(value) for key, value in setting.items()}
        if same and here and {k: str(v) for k, v in parse_setting(one["setting"]).items()}.items() <= told.items():
            named.append(one)
    return named[0] if len(named) == 1 else next((one for one in named if one["item"] == row["item"]), None)


def _word(comparison: Mapping[str, Any], name: str) -> str:
    """The paper's word for a dataset that a row names as `rows.dataset_name` does."""
    sizes = comparison["sizes"]
    return next((word for word in sizes if dataset_name(sizes, word) == name), name)


def _as_written(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as the CSV holds them."""
    stream = io.StringIO()
    csv.writer(stream).writerow(values.values())
    return dict(zip(values, next(csv.reader([stream.getvalue()])), strict=True))
