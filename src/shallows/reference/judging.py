"""Reference results judged anew by the present criteria, from their means and deviations: no run is needed."""

from __future__ import annotations

import csv
import io
import math
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

#: Words of reasons that tell of values which the mean does not hold: lower bounds, and levels that were not reached.
_NOT_IN_THE_MEAN = ("at least this:", "not reached", "is not finite")


def judge(plan: Plan, scale: str, reference: str | Path, wanted: Iterable[str] = ()) -> Iterator[str]:
    """Give rows of the reference the verdicts, and targets the words, of the present configuration.

    A criterion that changed needs no run to be made again where it judges a mean over repetitions. What no mean tells
    (a value that is not finite, a level that was not reached, a criterion for every single repetition) stays as
    collected, and so does what a changed configuration would measure otherwise.

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
    spec, rows = comparison["spec"], Rows(comparison)
    claim, metric = spec.get("claims", {}).get(row["metric"]), spec["metrics"].get(row["metric"])
    printed, word = _printed(comparison, row), _word(comparison, row["dataset"])
    kind = (claim or metric or {}).get("evidence")
    told = any(words in row["reason"] for words in _NOT_IN_THE_MEAN) or not _is_finite(row["measured_mean"])
    told = told and not ("censored" in (claim or {}) and row["measured_mean"] == "inf")
    told = told or kind not in (*verdicts.KINDS, verdicts.DERIVED) or (claim or {}).get("every_seed")
    # What was not comparable may be so now: of a cell that can be told, of a claim over several series it cannot.
    may_be_judged = row["verdict"] in DECIDED or (row["verdict"] == verdicts.NOT_COMPARABLE and claim is None)
    if not may_be_judged or printed is None or told:
        return dict(row)
    deviation = float(row["measured_sd"] or 0.0)
    values = values_of(float(row["measured_mean"]), deviation, _repetitions(row, runs))
    setting, interval, margin = parse_setting(row["setting"]), None, None
    if claim is not None:
        if "tolerance" in claim:
            margin = uncertainty.margin(printed["published"], claim["tolerance"], values, runs, printed["spread"])
        counted = bool(claim.get("counted_on")) and bool(row["low"])
        interval = (float(row["low"]), float(row["high"])) if counted else claims.interval_of(claim, values)
        words = [{"data": word, "method": row["method"]}]
        number = claims.Number(words, setting, values)
        judgement = claims.judgement_of(rows, claim, number, printed, runs, margin, interval)
        tolerance = verdicts.criterion_of(claim) if kind in verdicts.KINDS else ""
    elif metric is not None:
        published = cells.number_in(printed["published"])
        if published is None:
            return dict(row)
        rule, measured = metric.get("tolerance", {}), float(row["measured_mean"])
        margin = uncertainty.margin(printed["published"], rule, values, runs, printed["spread"])
        (series,) = [one for one in comparison["series"] if _answers(one, word, row["method"], setting)]
        unlike = cells.unlike(rows, metric, series, runs)
        verdict = verdicts.judge(published, measured, margin, cells.good_side(metric, row["method"]))
        judgement = (verdicts.NOT_COMPARABLE, unlike) if unlike else (verdict, "")
        tolerance = verdicts.criterion_of(metric) if rule else ""
    else:
        return dict(row)
    new = rows.row(
        *(word, row["method"], setting, row["metric"], judgement, printed, values, runs),
        tolerance=tolerance,
        margin=margin,
        interval=interval,
    )
    changed = _as_written({name: new[name] for name in ("verdict", "reason", "tolerance", "fixed", "margin")})
    kept = row["low"] and interval is not None
    limits = {"low": row["low"], "high": row["high"]} if kept else _as_written({k: new[k] for k in ("low", "high")})
    told_of = _as_written({name: new[name] for name in ("evidence", "item", "derived", "published")})
    return {**row, **changed, **limits, **told_of}


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


def _is_finite(text: str) -> bool:
    return bool(text) and math.isfinite(float(text))


def _as_written(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as the CSV holds them."""
    stream = io.StringIO()
    csv.writer(stream).writerow(values.values())
    return dict(zip(values, next(csv.reader([stream.getvalue()])), strict=True))
