"""Rows of older collections, judged again: the same verdicts, others where a criterion moved."""

import copy
from dataclasses import replace

import pytest

from claims_example import RACE, REACHED, made
from shallows_papers.experiments.comparing import target_table
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.reference import folder, old_rows

LAPTOP = "results/reference/laptop"
NONSENSE = "at least this: without not reached within 3 of 4 runs; no value, not reached in 1 of 2 runs"


def hold_target(target):
    return folder.read_rows_of(LAPTOP, target, folder.read_index(LAPTOP))


def texts(rows):
    return [row.as_text() for row in rows]


# What the runs would give --------------------------------------------------------------------------------------------

LATE = {1: 9.0, 2: 9.0, 3: 9.0, 4: 9.0, 8: 3.2}
NEVER = dict.fromkeys(range(1, 13), 9.0)
OVER = {"of": {"method": "slow"}, "over": {"method": "fast"}}


def race(*slow, **others):
    """Slow runs and fast runs in equal number; the fast ones reach the level after two epochs."""
    return {
        **{("fast", "g", seed): RACE["fast", "g", 0] for seed in range(len(slow))},
        **{("slow", "g", seed): {"error": curve} for seed, curve in enumerate(slow)},
        **{("slow", kernel, 0): {"error": curve} for kernel, curve in others.items()},
        **{("fast", kernel, 0): RACE["fast", "g", 0] for kernel in others},
        **{("exact", kernel, 0): {"error": {None: 3.0}} for kernel in ("g", *others)},
    }


def seeds(*values):
    return {("fast", "g", seed): {"error": {1: value}} for seed, value in enumerate(values)}


CASES = {
    "values": (seeds(1.0, 2.0, 4.0), {}),
    "one value": (seeds(2.0), {}),
    "not finite": (seeds(1.0, float("inf")), {}),
    "an infinite ratio": (seeds(float("inf"), float("inf")), {"of": {"method": "fast"}, "over": {"method": "fast"}}),
    "a value is missing": ({**seeds(1.0, 2.0), ("fast", "g", 2): {"error": {}}}, {}),
    "a level": (race(LATE, LATE), OVER),
    "a bound": (race(LATE, NEVER), OVER),
    "no bound": (race(LATE, {12: 9.0}), OVER),
    "a level that one passed": (race(LATE, NEVER), {"of": {"method": "slow"}}),
    "smallest, a bound": (race(LATE, l=NEVER), {**OVER, "across": "smallest"}),
    "smallest, measured": (race(LATE, NEVER, l=LATE), {**OVER, "across": "smallest"}),
    "largest": (race(LATE, l={12: 9.0}), {**OVER, "across": "largest"}),
}
CRITERIA = [
    {"at_most": 0.5},
    {"at_most": 12},
    {"at_least": 3.5},
    {"between": [1.0, 3.0], "every_seed": True},
    {"between": [-9.0, 9.0], "paired": True},
    {"tolerance": {"absolute": 0.5, "standard_errors": 2}},
    {"tolerance": {"absolute": 1.5}},
]


def held_of(comparison, measured, metric):
    """What a reference holds of a comparison: the rows of a metric as they are read from a file."""
    measured = {name: replace(one, folder=name) for name, one in measured.items()}
    rows = [row for row in target_table.rows_of(comparison, measured) if row.metric == metric]
    runs = [
        {"data": 0, "made_by": 0, "run": one.record["run"], "metrics": {}, "folder": name}
        for name, one in measured.items()
    ]
    record = {"data": [{"n_test": 10_000}], "made_by": [{}], "runs": runs}
    return folder.OldRows([Row.from_text(row.as_text()) for row in rows], record)


def collected(case, criterion):
    """The comparison of a case by a criterion, and what a reference holds of it."""
    curves, claim = CASES[case]
    metrics = REACHED if any(method == "slow" for method, *_ in curves) else {"error": {"label": "error"}}
    claim = {"label": "x", "evidence": "order", "fixed": "first commit", **claim, **criterion}
    printed = {"dataset": "", "method": "", "setting": "", "metric": "claim", "published": "3"}
    comparison, measured = made(curves, metrics=metrics, claims={"claim": claim})
    comparison["published"] = [printed | {"spread": "", "item": "1", "derived": ""}]
    return comparison, held_of(comparison, measured, "claim")


@pytest.mark.parametrize("case", CASES)
def test_judging_again_by_another_criterion_gives_what_the_runs_would_give(case):
    for before, after in zip(CRITERIA, [*CRITERIA[1:], CRITERIA[0]], strict=True):
        files, (comparison, wanted) = collected(case, before)[1], collected(case, after)
        spoilt = folder.OldRows([replace(row, reason=NONSENSE) for row in files.rows], files.record)
        assert len(wanted.rows) == 1
        if wanted.rows[0].values:
            assert texts(old_rows.judged_again(comparison, spoilt)) == texts(wanted.rows), (before, after)
        else:  # there is nothing to judge
            assert (files.rows[0].verdict, wanted.rows[0].verdict) == (Verdict.NOT_RUN, Verdict.NOT_RUN)


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("case", ["values", "one value", "a bound", "a level"])
def test_mean_and_deviation_judge_as_the_values_do_and_what_needs_these_stays_as_collected(case, criterion):
    comparison, files = collected(case, criterion)
    (row,) = files.rows
    bare = replace(row, values=(), reason=NONSENSE)
    (again,) = old_rows.judged_again(comparison, folder.OldRows([bare], files.record))
    if row.repetitions > 1 and (row.is_bound or "every_seed" in criterion):
        assert again == replace(bare, as_collected=True)
    else:
        assert again.as_text() == row.as_text() | {"values": ""}


def printed_cells(published, kernels):
    curves = {("fast", kernel, 0): {"error": {None: 2.0}} for kernel in "gl"}
    metrics = {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1.0}}}
    said = [("Toy", "fast", f"kernel={kernel}", "error", published) for kernel in kernels]
    return made(curves, metrics=metrics, published=said)


def test_a_cell_is_judged_again_by_its_own_series():
    comparison, measured = printed_cells("2.5", "gl")
    comparison["series"][0]["altered"] = {"rank": (160, 40)}
    files = held_of(comparison, measured, "error")
    assert [row.verdict for row in files.rows] == [Verdict.NOT_COMPARABLE, Verdict.ONE_SEED]
    spoilt = [replace(row, reason=NONSENSE, verdict=Verdict.DEVIATES) for row in files.rows]
    assert texts(old_rows.judged_again(comparison, folder.OldRows(spoilt, files.record))) == texts(files.rows)


def test_a_row_whose_series_or_printed_item_is_planned_no_more_stays_as_collected():
    comparison, files = collected("values", {"at_most": 0.5})
    wanted = [replace(row, as_collected=True) for row in files.rows]
    for gone in ("series", "published"):
        assert texts(old_rows.judged_again({**comparison, gone: []}, files)) == texts(wanted)


def test_what_was_not_run_has_the_printed_text_and_the_place_of_the_present_files():
    comparison, measured = printed_cells("0.00022", "gml")
    files = held_of(comparison, measured, "error")
    renamed = {**comparison, "published": [{**one, "published": "2.2e-4"} for one in comparison["published"]]}
    renamed["published"].append({**renamed["published"][0], "setting": "kernel=n"})
    rows = old_rows.judged_again(renamed, files)
    assert [(row.setting[-1], row.published, row.verdict.value) for row in rows] == [
        ("g", "2.2e-4", "deviates"),
        ("m", "2.2e-4", "not run"),
        ("l", "2.2e-4", "deviates"),
        ("n", "2.2e-4", "not run"),
    ]
    assert texts(old_rows.judged_again(renamed, folder.OldRows(rows, files.record))) == texts(rows)


# The reference in the repository -------------------------------------------------------------------------------------


def test_a_criterion_that_moved_moves_the_verdict_its_words_and_no_number(full_plan):
    target, metric = "eigenpro_acceleration_factor", "solved"
    files, comparison = hold_target(target), copy.deepcopy(full_plan.comparison(target, "laptop"))
    claim = comparison["spec"]["claims"][metric]
    for name in ("at_most", "at_least", "between", "paired"):
        claim.pop(name, None)
    claim["at_most"] = -5.0
    pairs = zip(files.rows, old_rows.judged_again(comparison, files), strict=True)
    old, new = next((old, new) for old, new in pairs if old.metric == metric)
    assert (old.verdict, new.verdict) == (Verdict.REPRODUCED, Verdict.DEVIATES)
    assert "at most -5" in new.tolerance
    assert "at most -5" in new.reason
    moved = {"verdict", "tolerance", "reason", "cause"}
    assert {name for name, text in new.as_text().items() if text != old.as_text()[name]} == moved
