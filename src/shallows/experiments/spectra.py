"""Rows of a picture of spectra, and the claims of a paper about them, measured by criteria of our own."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import verdicts
from .compare import Measured, Row


def spectra(comparison: Mapping[str, Any], measured: Mapping[str, Measured]) -> Iterator[dict[str, Any]]:
    """Rows of a picture of spectra: the points that are drawn, the data that is missing, and the paper's claims."""
    spec, row = comparison["spec"], Row(comparison)
    metric = next(iter(spec["metrics"]))
    ratios: list[tuple[dict[str, Any], list[dict[int, float]]]] = []
    for series in comparison["series"]:
        runs = [measured[run] for run in series["run_ids"]]
        spectra_of_runs = [_normalised(run) for run in runs]
        ratios.append((series, spectra_of_runs))
        for index in log_spaced(max(spectra_of_runs[0]), spec.get("drawn", 60)):
            yield row(
                series["data"],
                series["method"],
                {**series["setting"], spec["mark"]: index},
                metric,
                verdicts.NOT_COMPARABLE,
                values=[one[index] for one in spectra_of_runs],
                runs=runs,
                reason="the paper draws this curve and prints no number",
            )
    for word, reason in comparison["missing"].items():
        where = spec["published_data"].get(word, {}).get("setting", {})
        yield row(word, comparison["method"], where, metric, verdicts.NOT_RUN, reason=reason)
    for name, claim in spec.get("claims", {}).items():
        yield from _claim(name, claim, comparison, ratios, measured)


def _normalised(run: Measured) -> dict[int, float]:
    values = next(iter(run.curve.values()))
    first = values[min(values)]
    return {index: value / first for index, value in values.items()}


def log_spaced(last: int, count: int) -> list[int]:
    """At most ``count`` whole numbers from 1 to ``last``, evenly spaced in the logarithm, both ends included."""
    if last <= 1 or count <= 1:
        return [1]
    return sorted({round(last ** (step / (count - 1))) for step in range(count)})


def _claim(
    name: str,
    claim: Mapping[str, Any],
    comparison: Mapping[str, Any],
    ratios: Sequence[tuple[dict[str, Any], list[dict[int, float]]]],
    measured: Mapping[str, Measured],
) -> Iterator[dict[str, Any]]:
    row = Row(comparison)
    printed = {one["dataset"]: one["published"] for one in comparison["published"] if one["metric"] == name}
    criterion = f"our criterion for this claim: at most {claim['at_most']:g}"
    matching = [
        (series, one)
        for series, one in ratios
        if all(str(series["setting"].get(key)) == str(value) for key, value in claim["setting"].items())
    ]
    for word in dict.fromkeys([*printed, *(series["data"] for series, _ in matching)]):
        own = [(series, one) for series, one in matching if series["data"] == word]
        published = printed.get(word, "")
        if not own:
            reason = comparison["missing"].get(word) or comparison["left_out"] or "not asked for at this scale"
            yield row(word, comparison["method"], {}, name, verdicts.NOT_RUN, published=published, reason=reason)
            continue
        for setting, values, group in MEASURES[claim["measure"]](own, claim["index"]):
            differs = [
                f"{key} {setting.get(key)}, published for {value}"
                for key, value in claim.get("comparable", {}).items()
                if str(setting.get(key)) != str(value)
            ]
            reason = row.incomparable(word) or "; ".join(differs)
            runs = [measured[run] for series in group for run in series["run_ids"]]
            if reason:
                verdict = verdicts.NOT_COMPARABLE
            else:
                good = statistics.fmean(values) <= claim["at_most"]
                verdict, reason = (verdicts.REPRODUCED if good else verdicts.DEVIATES), criterion
            yield row(
                word,
                own[0][0]["method"],
                setting,
                name,
                verdict,
                published=published,
                values=values,
                runs=runs,
                reason=reason,
                tolerance=f"{claim['label']} at most {claim['at_most']:g}",
            )


_Own = Sequence[tuple[dict[str, Any], list[dict[int, float]]]]
_Found = Iterator[tuple[dict[str, Any], list[float], list[dict[str, Any]]]]


def ratio(own: _Own, index: int) -> _Found:
    """For every spectrum the eigenvalue at an index, as a share of the first."""
    for series, spectra_of_runs in own:
        setting = {key: value for key, value in series["setting"].items() if key != "panel"}
        yield setting, [one[index] for one in spectra_of_runs if index in one], [series]


def spread(own: _Own, index: int) -> _Found:
    """For each seed the largest difference in log₁₀ between two spectra, over the indices up to the given one."""
    values = []
    for same_seed in zip(*(spectra_of_runs for _, spectra_of_runs in own), strict=True):
        gaps = []
        for i in range(1, index + 1):
            logs = [math.log10(one[i]) for one in same_seed if one.get(i, 0) > 0]
            gaps.append(max(logs) - min(logs) if len(logs) == len(same_seed) else math.inf)
        values.append(max(gaps))
    yield {}, values, [series for series, _ in own]


MEASURES = {"ratio": ratio, "spread": spread}
