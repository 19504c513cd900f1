"""Compare a user's results with the reference, target by target, and report what drifted."""

import csv
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shallows.errors import UnknownNameError
from shallows_papers.datasets.files import replacing
from shallows_papers.experiments.comparing.table_rows import Row, read_rows
from shallows_papers.experiments.comparing.uncertainty import standard_error

from . import folder
from .collection import of_the_machine
from .held import Reference, commits_text, facts

#: Standard errors by which two means over seeds may differ. Both sides have the same seeds and test points, so actual
#: differences are much smaller. One machine computed 1,225 numbers with two sets of OpenBLAS kernels (SkylakeX and
#: Haswell): 1,134 were equal to eight digits, and the others used at most a hundredth of their margin.
STANDARD_ERRORS = 2.0
RELATIVE = 0.01  # additional share by which a number may differ, for rounding
RELATIVE_ALONE = 0.02  # share if the spread is unknown: one repetition, not a count
FLOOR = 1e-6  # differences below this share of a metric's largest value in its table are rounding
SMALLEST = 1e-12  # if all values of a metric are smaller than this, they are rounding errors

AGREES, DRIFTED, MISSING, LEFT_OUT = "agrees", "drifted", "missing", "left out"

_KEY = ("dataset", "method", "setting", "metric")


@dataclass(frozen=True)
class Finding:
    """The result of comparing one number."""

    key: tuple[str, ...]  # dataset, method, setting, metric
    #: one of the four above; missing: only in the reference; left out: a time, or a value reached in a time
    state: str
    reference: float | None = None  # the two means
    here: float | None = None
    margin: float | None = None  # largest accepted difference
    why: str = ""  # explanation of the margin, or why the number is missing
    verdicts: tuple[str, str] = ("", "")  # in the reference and here

    def __str__(self) -> str:
        place = " · ".join(filter(None, self.key))
        if self.state == MISSING:
            return f"{place}: {self.reference:.6g} in the reference, missing here ({self.why})"
        return (
            f"{place}: {self.here:.6g} here, {self.reference:.6g} in the reference; accepted difference "
            f"{self.margin:.3g} ({self.why})"
        )


def compare(
    reference: Sequence[Row],
    here: Sequence[Row],
    *,
    of_the_machine: Collection[str] = (),
    timed_runs: Collection[str] = (),
) -> Iterator[Finding]:
    """Compare the rows of a target's reference with rows of the same target from another machine, number by number.

    Rows that the reference lacks are skipped. Metrics ``of_the_machine`` are times, and ``timed_runs`` identifies runs
    that were evaluated after a time in seconds.
    """
    found = dict(zip(_keys(here), here, strict=True))
    largest: Counter[str] = Counter()
    for row in reference:
        if row.measured_mean is not None and math.isfinite(row.measured_mean):
            largest[row.metric] = max(largest[row.metric], abs(row.measured_mean))
    for key, row in zip(_keys(reference), reference, strict=True):
        value, own = row.measured_mean, found.get(key)
        if value is None:
            continue
        if row.metric in of_the_machine or not {*timed_runs}.isdisjoint(row.records):
            yield Finding(key[:4], LEFT_OUT, value)
        elif own is None or own.measured_mean is None:
            yield Finding(key[:4], MISSING, value, why=own.reason if own and own.reason else "no such row")
        elif (row.n_train, row.n_test) != (own.n_train, own.n_test):
            sizes = f"on {own.n_train}+{own.n_test} points here, {row.n_train}+{row.n_test} there"
            yield Finding(key[:4], DRIFTED, value, own.measured_mean, 0.0, sizes)
        else:
            margin, why = margin_between(row, own, largest[row.metric])
            both_nan = math.isnan(value) and math.isnan(own.measured_mean)
            is_near = both_nan or math.isclose(value, own.measured_mean, rel_tol=0.0, abs_tol=margin)
            state = AGREES if is_near else DRIFTED
            yield Finding(key[:4], state, value, own.measured_mean, margin, why, (row.verdict, own.verdict))


def margin_between(reference: Row, here: Row, largest: float) -> tuple[float, str]:
    """Return the accepted difference of two rows' means, and its explanation.

    Facts, such as sizes, must be equal. For other numbers it is `STANDARD_ERRORS` times √(s₁²/n₁ + s₂²/n₂ + c²) plus a
    share of the number. Here s is the standard deviation over n repetitions. For an error in percent, c is its standard
    error from the number of test points. ``largest`` is the largest finite absolute value of the
    metric in the reference's table.
    """
    value, parts, variance = reference.measured_mean, [], 0.0
    if reference.evidence == "fact":
        return max(FLOOR * largest, SMALLEST), "a fact"
    spreads = [
        row.measured_sd**2 / row.measured.count
        for row in (reference, here)
        if row.measured_sd is not None and math.isfinite(row.measured_sd)
    ]
    if spreads:
        variance += sum(spreads)
        parts.append("seeds")
    n_test = reference.n_test
    if reference.unit == "%" and n_test and 0.0 <= value <= 100.0:
        variance += standard_error(value, n_test) ** 2
        parts.append(f"{n_test:,} test points")
    relative = RELATIVE if parts else RELATIVE_ALONE
    words = [f"{STANDARD_ERRORS:g} standard errors by {' and '.join(parts)}"] if parts else []
    words.append(f"{relative:.0%} of the number")
    size = abs(value) if math.isfinite(value) else 0.0
    margin = STANDARD_ERRORS * math.sqrt(variance) + relative * size
    return max(margin, FLOOR * largest, SMALLEST), " + ".join(words)


def _keys(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a key for each row. Rows with the same content are numbered in order."""
    seen: Counter[tuple[str, ...]] = Counter()
    keys = []
    for row in rows:
        key = tuple(getattr(row, name) for name in _KEY)
        keys.append((*key, str(seen[key])))
        seen[key] += 1
    return keys


COLUMNS = ("target", "dataset", "method", "setting", "metric", "state", "reference", "here", "margin", "why")
_SHOWN = 20
#: Up to this number, commits are named in one line.
_FEW = 3


@dataclass(frozen=True)
class Verification:
    """The result of comparing a scale's numbers."""

    findings: dict[str, list[Finding]]  # by target, for targets with a table here
    not_here: list[str]  # targets of the reference that have no table here
    #: counts of runs: "all" in the reference, "same" code, data and parameters here, and of these, bitwise "equal"
    runs: Counter[str]

    @property
    def holds(self) -> bool:
        """Whether something was compared, nothing drifted and nothing is missing."""
        states = self.states()
        return states[AGREES] > 0 and not states[DRIFTED] and not states[MISSING]

    def states(self) -> Counter[str]:
        """The number of comparisons in each state."""
        return Counter(one.state for found in self.findings.values() for one in found)


def verify(held: Reference, results: str | Path, wanted: Iterable[str] = ()) -> Verification:
    """Compare the tables of a scale's results with its reference, for the wanted targets or all."""
    results, known = Path(results), held.targets
    findings, not_here, runs = {}, [], Counter()
    for target in wanted or known:
        UnknownNameError.check("target in the reference", target, known)
        table = results / "tables" / f"{target}.csv"
        if not table.exists():
            not_here.append(target)
            continue
        machine = {"of_the_machine": of_the_machine(held.plan, target), "timed_runs": held.timed(target)}
        findings[target] = list(compare(held.table(target).rows, read_rows(table), **machine))
        for run in held.runs_of(target):
            runs["all"] += 1
            with suppress(OSError, ValueError, KeyError):
                own = json.loads((results / run.folder / "record.json").read_text(encoding="utf-8"))
                is_same, sha256 = own["run"]["key"] == run.record["run"]["key"], own["model"]["sha256"]
                runs["same"] += is_same
                runs["equal"] += is_same and bool(sha256) and sha256 == run.record["model"]["sha256"]
    return Verification(findings, not_here, runs)


def report(found: Verification, held: Reference) -> Iterator[str]:
    """Yield lines about numbers that drifted, are missing or were not compared."""
    about = facts(run.record for target in held.targets for run in held.runs_of(target))
    n_commits, changed = len(about["commits"]), about["n_with_changes"]
    commits = f"commit {commits_text(about)}" if n_commits <= _FEW else f"{n_commits} commits, {changed} with changes"
    yield (
        f"Reference of the scale {held.scale}: {len(held.targets)} targets, {commits}, on "
        f"{', '.join(folder.distinct(one['cpu'] for one in about['machines']))}"
    )
    if n_commits > _FEW:
        yield f"The commits of each target: python -m shallows_papers.reference list --scale {held.scale}"
    for target, findings in found.findings.items():
        states = Counter(one.state for one in findings)
        said = ", ".join(f"{states[state]} {state}" for state in (AGREES, DRIFTED, MISSING, LEFT_OUT) if states[state])
        yield f"{target}: {said or 'no numbers'}"
        wrong = [one for one in findings if one.state in (DRIFTED, MISSING)]
        yield from (f"  {one.state}: {one}" for one in wrong[:_SHOWN])
        if len(wrong) > _SHOWN:
            yield f"  and {len(wrong) - _SHOWN} more, which verification.csv holds"
        for one in findings:
            if one.state == AGREES and one.verdicts[0] != one.verdicts[1]:
                yield f"  verdict: {' · '.join(filter(None, one.key))}: {one.verdicts[1]} here, {one.verdicts[0]} there"
    if found.not_here and not found.findings:
        yield (
            f"Nothing could be compared: of {len(found.not_here)} targets, none has a table in your results. "
            f"Run them first (make {held.scale}, or a target by its name), or set their folder with --results."
        )
    if found.not_here:
        yield f"Not run here: {', '.join(found.not_here)}"
    if absent := [target for target in held.plan.targets if target not in held.targets]:
        yield f"Not in the reference: {', '.join(absent)}"
    if held.unrequested:
        yield f"Runs of the reference that the configuration does not request: {', '.join(held.unrequested[:_SHOWN])}"
    yield (
        f"{found.runs['same']} of {found.runs['all']} runs have the code, data and parameters of the reference; of "
        f"them {found.runs['equal']} are equal to the bit"
    )
    states = found.states()
    yield (
        f"{states[AGREES]} numbers agree, {states[DRIFTED]} drifted, {states[MISSING]} are missing; "
        f"{states[LEFT_OUT]} times, and values reached in a time, were left out"
    )


def write_csv(found: Verification, path: str | Path) -> None:
    """Write every number that was compared, with its margin, as a CSV."""
    with replacing(Path(path)) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for target, findings in found.findings.items():
            for one in findings:
                numbers = ["" if value is None else f"{value:.8g}" for value in (one.reference, one.here, one.margin)]
                writer.writerow([target, *one.key, one.state, *numbers, one.why])
