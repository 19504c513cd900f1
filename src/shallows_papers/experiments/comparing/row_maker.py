"""Makes the rows of one target from its data sizes, its definitions and the reasons for what is missing."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..setting_text import format_setting, selects
from . import verdicts
from .evaluations import RunResult, points_used
from .table_rows import AUTHORS, NOTHING, OURS, Measured, Row
from .verdicts import CALIBRATED, QUOTED, UNEXPLAINED, UNMEASURED, Verdict

#: The dataset of a row about several datasets.
ALL_DATA = "all data"
#: The scale whose sizes are too small to contradict a paper.
TOO_SMALL = "demo"


class RowMaker:
    """Makes the rows of one target from its `Plan.comparison`."""

    def __init__(self, comparison: Mapping[str, Any]):
        self.comparison = comparison
        self._defined = {**comparison["spec"]["metrics"], **comparison["spec"].get("claims", {})}

    def row(
        self,
        words: Sequence[str],
        method: str,
        setting: Mapping[str, Any],
        metric: str,
        judgement: tuple[Verdict, str],
        printed: Mapping[str, str] | None = None,
        measured: Measured = NOTHING,
        runs: Sequence[RunResult] = (),
        *,
        is_shown: bool = True,
        tolerance: str = "",
        margin: float | None = None,
        interval: tuple[float, float] | None = None,
    ) -> Row:
        """Make a row with what was measured on datasets (named by the paper's words) and the verdict with its reason.

        ``printed`` is the row of the published file, if there is one. ``is_shown`` says whether the mean is a measured
        number. ``tolerance`` is the criterion as text, ``margin`` the largest difference allowed between the mean and
        the published number, and ``interval`` the interval that was judged.
        """
        word = words[0] if len(words) == 1 else ALL_DATA
        size, definition, printed = self._size(word, runs), self._defined.get(metric, {}), printed or {}
        keys = {"data": words, "method": method, "metric": metric, **setting}
        evidence, calibration = self.evidence(printed, keys)
        entry = self.comparison["spec"]["methods"].get(method) or {}
        series = OURS if "ours" in entry else AUTHORS if "sources" in entry else ""
        if series == OURS and judgement[0] not in UNMEASURED:
            judgement = Verdict.MEASURED, ""
        verdict, cause, why = self.explained(judgement[0], keys)
        if verdict in (Verdict.REPRODUCED, Verdict.ONE_SEED) and evidence == "fact":
            verdict = Verdict.AGREES
        elsewhere = f"counted elsewhere: {printed['derived']}" if printed.get("derived") else ""
        low, high = interval or (None, None)
        return Row(
            target=self.comparison["target"],
            dataset=dataset_name(self.comparison["sizes"], word),
            n_train=size.get("n_train") or None,
            n_test=size.get("n_test") or None,
            method=method,
            setting=format_setting(setting),
            metric=metric,
            published=printed.get("published", ""),
            measured_mean=measured.mean if is_shown else None,
            measured_sd=measured.deviation if is_shown and not measured.is_bound else None,
            seeds=" ".join(map(str, sorted({run.record["run"]["seed"] for run in runs}))),
            verdict=verdict,
            scale=self.comparison["scale"],
            reason="; ".join(filter(None, (elsewhere, judgement[1], why, calibration))),
            unit=definition.get("unit", ""),
            tolerance=tolerance,
            records=tuple(run.folder for run in runs),
            evidence=evidence if printed else "",
            item=printed.get("item", ""),
            derived=printed.get("derived", ""),
            fixed=definition.get("fixed", "") if tolerance else "",
            margin=margin,
            low=low,
            high=high,
            values=measured.values,
            repetitions=measured.repetitions or None,
            passed=measured.passed,
            is_bound=measured.is_bound,
            left_out=measured.left_out,
            printed_data=tuple(words),
            cause=cause,
            series=series,
        )

    @property
    def left_out(self) -> str:
        """Why a printed value has no run although nothing is missing to run it."""
        return self.comparison["left_out"] or "no run of this scale measured it"

    def evidence(self, printed: Mapping[str, str], keys: Mapping[str, Any]) -> tuple[str, str]:
        """Return the kind of evidence of a printed value, and the reason if it is a calibrated number."""
        kind = printed.get("evidence") or self._defined.get(keys["metric"], {}).get("evidence", "")
        found = self._entry("calibrated", keys) if kind == "number" and printed else None
        return (CALIBRATED, f"calibrated: {found['why']}") if found else (kind, "")

    def _entry(self, of: str, keys: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the first entry of a list of the target whose selection holds a row."""
        return next(
            (
                one
                for one in self.comparison["spec"].get(of, ())
                if any(selects(one.get("where", {}), {**keys, "data": word}) for word in keys["data"])
            ),
            None,
        )

    def explained(self, verdict: Verdict, keys: Mapping[str, Any]) -> tuple[Verdict, str, str]:
        """Return the final verdict, the cause of a deviation, and the reason."""
        if verdict != Verdict.DEVIATES:
            return verdict, "", ""
        definition = self._defined[keys["metric"]]
        for key, refuted in (("refuted", Verdict.REFUTED), ("misprint", Verdict.MISPRINT)):
            if key in definition:
                return refuted, Verdict.REFUTED.value, f"right is: {definition[key]}"
        if self.comparison["scale"] == TOO_SMALL:
            return Verdict.UNDECIDED, "", "the sizes of the demo are too small to decide against it"
        found = self._entry("causes", keys) or {"cause": UNEXPLAINED, "why": ""}
        return verdict, found["cause"], found["why"]

    def not_run(
        self, word: str, method: str, setting: Mapping[str, Any], printed: Mapping[str, str] | None, metric: str
    ) -> Row:
        """Make the row of a published value for which nothing was measured."""
        definition = self._defined.get(metric, {})
        is_quoted = QUOTED in ((printed or {}).get("evidence"), definition.get("evidence"))
        reason = (
            definition.get("not_measured")
            or ("a result of others, which the paper quotes" if is_quoted else "")
            or self.comparison["missing"].get(word)
            or self.left_out
        )
        verdict = Verdict.QUOTATION if is_quoted else Verdict.NOT_RUN
        return self.row([word], method, setting, metric, (verdict, reason), printed)

    def incomparable(self, word: str, runs: Sequence[RunResult] = ()) -> str | None:
        """Say why the data of these runs cannot be compared with the paper's data."""
        if word not in self.comparison["sizes"]:
            return None
        paper = self.comparison["spec"]["published_data"].get(word)
        return verdicts.incomparable_data(word, paper, self._size(word, runs))

    def _size(self, word: str, runs: Sequence[RunResult]) -> Mapping[str, Any]:
        """Return the size of the data; where it matters for the comparison, with the training points that were used."""
        size = self.comparison["sizes"].get(word, {})
        if not size or (self.comparison["spec"]["published_data"].get(word) or {}).get("any"):
            return size
        here = [run for run in runs if run.record["run"].get("dataset") in (None, size["dataset"])]
        return {**size, "n_train": min([size["n_train"], *(points_used(run.record) for run in here)])}


def dataset_name(sizes: Mapping[str, Mapping[str, Any]], word: str) -> str:
    """Return the dataset that is used for a paper's word, with the word if the dataset is used for several words."""
    if word not in sizes:
        return word
    dataset = sizes[word]["dataset"]
    shared = sum(one["dataset"] == dataset for one in sizes.values()) > 1
    return f"{dataset} ({word})" if shared else dataset
