"""How many judged numbers agree: for each paper, for the runs that they come from, and by when criteria were set."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shallows_papers.experiments.comparing import verdict_log
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdicts import AFTER, AGREEING, CALIBRATED, Verdict

from .target import Target
from .wording import name_of

NUMBER = "number"
#: Verdicts of a number that was judged.
JUDGED = (Verdict.REPRODUCED, Verdict.ONE_SEED, Verdict.UNDECIDED, Verdict.DEVIATES, Verdict.REFUTED)


@dataclass(frozen=True)
class PaperCount:
    """Counts of the judged numbers of a paper."""

    paper: str
    verdicts: Mapping[Verdict, int]
    n_runs: int  # behind these numbers
    n_good_runs: int  # of these runs, with no number that is undecided or deviates
    calibrated: tuple[int, int]  # numbers that helped to choose a setting: how many agree, of how many


def judged(rows: Iterable[Row], evidence: str = NUMBER) -> Iterator[Row]:
    """Yield the rows of judged numbers, or with `CALIBRATED` of calibrated ones, without derived numbers."""
    return (row for row in rows if row.evidence == evidence and row.verdict in JUDGED and not row.derived)


def by_paper(targets: Sequence[Target], papers: Mapping[str, str]) -> list[PaperCount]:
    """Count the numbers of each paper with judged numbers; ``papers`` has short names by titles."""
    found = []
    for title in dict.fromkeys(str(target.meta.get("paper")) for target in targets):
        rows = [row for target in targets if str(target.meta.get("paper")) == title for row in target.rows]
        numbers, calibrated = [*judged(rows)], [*judged(rows, CALIBRATED)]
        runs: dict[str, bool] = {}
        for row in numbers:
            runs |= {run: runs.get(run, True) and row.verdict in AGREEING for run in row.records}
        agreeing = sum(row.verdict in AGREEING for row in calibrated)
        if numbers or calibrated:
            verdicts = Counter(row.verdict for row in numbers)
            name, found_calibrated = papers.get(title, title), (agreeing, len(calibrated))
            found.append(PaperCount(name, verdicts, len(runs), sum(runs.values()), found_calibrated))
    return found


def sentences(targets: Sequence[Target], log: Iterable[Mapping[str, str]] = ()) -> list[str]:
    """Say how many of all judged numbers come from the data with most of them, and when their criteria were set.

    The last count in the lines of the verdict log says how many numbers the criteria of the first commits would pass.
    """
    rows = [row for target in targets for row in target.rows]
    numbers = [*judged(rows), *judged(rows, CALIBRATED)]
    agreeing = [row for row in numbers if row.verdict in AGREEING]
    if not agreeing:
        return []
    dataset, count = Counter(row.dataset for row in numbers).most_common(1)[0]
    runs = {run for row in numbers if row.dataset == dataset for run in row.records}
    title = next(name_of(one, "dataset", dataset) for one in targets if dataset in one.values("dataset"))
    after = sum(row.fixed == AFTER for row in agreeing)
    counts = [line for line in log if line["what"] == verdict_log.COUNT]
    first = [
        f"With the criteria of the first commits {one['new']} means would be within their margins (counted on "
        f"{one['date']}), so that the later criteria are stricter."
        for one in counts[-1:]
    ]
    return [
        f"{count} of the {len(numbers)} judged numbers, calibrated ones included, come from {len(runs)} runs on "
        f"{title}.",
        f"{after} of the {len(agreeing)} reproduced numbers have a criterion that was set or moved after results had "
        "been looked at.",
        *first,
    ]
