"""Levels that are reached: at which mark, ratios of such marks, and bounds where a run did not reach one."""

import math

import pytest

from claims_example import RACE, REACHED, claim_of, made, rows_of
from shallows_papers.experiments.comparing import claims
from shallows_papers.experiments.comparing.measurements import Measurements
from shallows_papers.experiments.comparing.table_rows import Row


def reached(published, **changes):
    comparison, measured = made(RACE, metrics=REACHED, published=published, **changes)
    return {row["method"]: row for row in rows_of(comparison, measured)}


def test_the_first_mark_at_another_runs_level_is_what_is_measured():
    rows = reached([("Toy", "fast", "kernel=g", "epochs_needed", "2")])
    assert float(rows["fast"]["measured_mean"]) == 2.0 and rows["fast"]["verdict"] == "reproduced, one seed"
    assert rows["fast"]["setting"] == "kernel=g" and "exact" not in rows


def passages(curves, **passage):
    """Where each run of the first series passes a level."""
    metrics = {"epochs": {"label": "epochs", "first_passage": {"of": "error", **passage}}}
    comparison, measured = made(curves, metrics=metrics)
    return Measurements(comparison, measured).curves(comparison["series"][0], "epochs")


EXACT = {"method": "exact", "metric": "error"}


@pytest.mark.parametrize(
    ("curve", "exact", "passage", "mark"),
    [
        ({1: 4.0, 2: 2.5}, {}, {"at_most": 3.0}, 2.0),
        ({1: 5.0, 2: 3.0}, {3: 2.0, 4: 4.0}, {"at_most": EXACT}, 2.0),  # the mean of the levels of other seeds
        ({1: 49.0, 2: 48.24}, {0: 48.19}, {"at_most": EXACT, "plus": 0.05}, 2.0),  # met to rounding
        # One standard error of 50 % on 10,000 points is half a point.
        ({1: 52.0, 2: 50.51, 3: 50.49}, {0: 50.0}, {"at_most": EXACT, "plus": "standard error"}, 3.0),
        ({1: 52.0, 2: 50.51, 3: 50.51}, {0: 50.0}, {"at_most": EXACT, "plus": "standard error"}, None),
    ],
)
def test_a_level_is_a_number_or_that_of_another_method_and_may_be_widened(curve, exact, passage, mark):
    curves = {("fast", "g", 0): {"error": curve}}
    curves |= {("exact", "g", seed): {"error": {None: level}} for seed, level in exact.items()}
    assert passages(curves, **passage) == [{} if mark is None else {None: mark}]


@pytest.mark.parametrize(("printed", "verdict"), [("2", "deviates"), ("3", "undecided"), ("77", "not run")])
def test_a_level_that_is_not_reached_deviates_where_the_margin_ends_before_the_last_mark(printed, verdict):
    rows = reached([("Toy", "slow", "kernel=g", "epochs_needed", printed)])
    assert rows["slow"]["verdict"] == verdict and rows["slow"]["measured_mean"] == ""
    assert "not reached within 3 epochs" in rows["slow"]["reason"]


def test_a_level_of_a_metric_without_a_curve_is_not_run_whatever_is_printed():
    passage = {"label": "epochs", "evidence": "number", "first_passage": {"of": "error", "at_most": 3.0}}
    metrics = {"epochs_needed": passage, "loss": {"label": "loss"}}
    said = [("Toy", "fast", "kernel=g", "epochs_needed", "2")]
    comparison, measured = made({("fast", "g", 0): {"loss": {1: 1.0, 2: 0.5}}}, metrics=metrics, published=said)
    row = next(row for row in rows_of(comparison, measured) if row["metric"] == "epochs_needed")
    assert (row["verdict"], row["reason"], row["passed"]) == ("not run", "it has no curve", "")


def test_a_ratio_of_what_all_runs_reached_is_a_number_and_of_what_some_reached_none():
    claim = {"label": "x", "of": {"method": "slow"}, "over": {"method": "fast"}, "at_least": 3}
    curves = {**RACE, **{("slow", "g", seed): {"error": {1: 9.0, 8: 3.2}} for seed in (0, 1)}}
    curves["fast", "g", 1] = RACE["fast", "g", 0]
    (row,) = claim_of(claim, curves, published="at least three", metrics=REACHED)
    assert float(row["measured_mean"]) == 4.0 and row["verdict"] == "reproduced"
    curves["fast", "g", 1] = {"error": {1: 9.0, 2: 9.0, 3: 9.0}}
    (row,) = claim_of(claim, curves, published="at least three", metrics=REACHED)
    assert row["verdict"] == "not run" and row["measured_mean"] == ""
    assert row["reason"] == "not reached in 1 of 2 runs, by one side or both"


def test_runs_that_never_reached_a_level_count_with_their_last_point_where_it_is_past_the_limit():
    curves = {("fast", "g", seed): RACE["fast", "g", 0] for seed in (0, 1)} | {
        ("exact", "g", 0): {"error": {None: 3.0}}
    }
    curves["fast", "g", 2] = {"error": {1: 9.0, 2: 9.0, 3: 9.0}}
    claim = {"label": "x", "of": {"method": "fast"}, "at_most": 3}
    row = Row.from_text(claim_of(claim, curves, published="soon", metrics=REACHED)[0])
    assert (row.verdict, row.low, row.high) == ("deviates", None, None)
    assert (row.values, row.repetitions, row.passed, row.is_bound) == ((2.0, 2.0, 3.0), 3, 2, True)


@pytest.mark.parametrize(("limit", "verdict"), [(8, "deviates"), (12, "not run")])
def test_an_analysis_has_no_marks_and_counts_with_the_last_point_of_its_curve(limit, verdict):
    curves = {("fast", "g", 0): {"error": {1: 9.0, 5: 9.0, 10: 9.0}}, ("exact", "g", 0): {"error": {None: 3.0}}}
    claim = {"label": "x", "of": {"method": "fast"}, "at_most": limit}
    row = Row.from_text(claim_of(claim, curves, published="soon", metrics=REACHED, kind="curves")[0])
    assert (row.verdict, row.values, row.passed, row.is_bound) == (verdict, (10.0,), 0, True)


def bounded(slow, claim, *, published="3", others=()):
    """The row of a ratio of a race in which the fast method reaches the level after two epochs with every seed."""
    race = {
        **{("fast", "g", seed): RACE["fast", "g", 0] for seed in range(len(slow))},
        **{("slow", "g", seed): {"error": curve} for seed, curve in enumerate(slow)},
        ("exact", "g", 0): {"error": {None: 3.0}},
        **dict(others),
    }
    asked = {"label": "x", "of": {"method": "slow"}, "over": {"method": "fast"}, **claim}
    (row,) = claim_of(asked, race, published=published, metrics=REACHED)
    return row["verdict"], float(row["measured_mean"] or "nan"), Row.from_text(row)


NEVER = dict.fromkeys(range(1, 13), 9.0)
NEAR = {"tolerance": {"absolute": 1.0}}


@pytest.mark.parametrize(
    ("printed", "verdict", "measured"), [("3", "deviates", 5.5), ("5", "undecided", 5.5), ("9", "not run", math.nan)]
)
def test_a_run_that_did_not_reach_a_level_counts_from_below_with_the_epochs_it_was_looked_at(
    printed, verdict, measured
):
    *found, row = bounded([NEVER, {**NEVER, 10: 3.2}], NEAR, published=printed)
    assert found == [verdict, pytest.approx(measured, nan_ok=True)]
    assert (row.values, row.repetitions, row.passed, row.is_bound) == ((6.0, 5.0), 2, 1, True)
    assert row.measured_sd is None
    assert "not reached in 1 of 2 runs" in row.reason


@pytest.mark.parametrize(
    ("slow", "bounds"),
    [
        ([{1: 9.0, 2: 9.0, 3: 9.0, 4: 9.0, 12: 9.0}], (6.0,)),
        ([{5: 9.0, 10: 9.0}], (5.0,)),
        # Without all points of its series, as after an end by time, it counts up to where it has 1, 2, 3 and so on.
        ([NEVER, dict.fromkeys(range(1, 5), 9.0)], (6.0, 2.0)),
        ([NEVER, {5: 9.0}], ()),
    ],
)
def test_a_run_that_never_passed_counts_with_the_last_of_its_evaluation_points(slow, bounds):
    verdict, _, row = bounded(slow, NEAR, published="1")
    assert (row.values, row.passed, row.is_bound) == (bounds, 0, bool(bounds))
    assert verdict == ("deviates" if bounds else "not run")


def test_a_bound_is_no_measured_number_and_reproduces_nothing():
    for claim in ({"at_least": 6}, {"between": [1, 99]}):
        assert bounded([NEVER], claim)[:2] == ("undecided", 6.0)
    for claim in ({"at_least": 7}, {"at_most": 7}, {"between": [7, 9]}):
        assert bounded([NEVER], claim)[0] == "not run"
    assert bounded([NEVER], {"between": [1, 5]})[0] == "deviates"
    assert bounded([NEVER], NEAR, published="5")[:2] == ("undecided", 6.0)  # at the end of the margin


def test_a_bound_needs_the_other_side_and_whole_curves():
    assert bounded([NEVER], {**NEAR, "over": {"method": "fast", "metric": "error"}})[0] == "not run"
    assert bounded([NEVER], NEAR, others={("fast", "g", 0): {"error": {1: 9.0}}})[0] == "not run"
    reached = {**NEVER, 8: 3.2}
    assert bounded([reached], {**NEAR, "from": 1, "to": 99}, published="4")[0] == "not run"


def two_kernels(fast, slow):
    """Runs of a second kernel, next to those of `bounded`."""
    return {
        ("fast", "l", 0): {"error": fast},
        ("slow", "l", 0): {"error": slow},
        ("exact", "l", 0): {"error": {None: 3.0}},
    }


LATE = {**NEVER, 8: 3.2}  # a ratio of 4


@pytest.mark.parametrize(
    ("level", "slow", "others", "verdict"),
    [
        (3, [LATE], two_kernels({**NEVER, 4: 2.0}, NEVER), "undecided"),  # a bound of 12/4
        (4, [LATE], two_kernels({**NEVER, 4: 2.0}, NEVER), "not run"),
        # Its last evaluation point bounds it from below, with gaps before it too.
        (4, [LATE], two_kernels({1: 2.0}, {12: 9.0}), "reproduced, one seed"),
        # What was measured below all bounds is no bound.
        (4, [LATE], two_kernels({1: 2.0}, NEVER), "reproduced, one seed"),
        (5, [LATE], two_kernels({1: 2.0}, NEVER), "deviates"),
        (4, [LATE, NEVER], {}, "reproduced"),
        (5, [LATE, NEVER], {}, "deviates"),
    ],
)
def test_a_smallest_ratio_counts_what_was_not_reached_from_below(level, slow, others, verdict):
    claim = {"across": "smallest", "at_least": level}
    found, measured, row = bounded(slow, claim, others=others)
    assert found == verdict
    is_bound = verdict in ("undecided", "not run")
    assert row.is_bound is is_bound and (measured == 4.0 or is_bound)


def test_a_number_over_settings_tells_what_it_leaves_out():
    other = two_kernels({1: 2.0}, {12: 9.0})
    verdict, measured, row = bounded([LATE], {"across": "largest", "at_least": 3}, others=other)
    assert (verdict, measured, row.left_out) == ("reproduced, one seed", 4.0, ("Toy, l",))
    assert row.reason.endswith("at least 3; without Toy, l, where not all runs reached the level")
    for across, criterion, values in (("largest", {"at_most": 9}, (4.0,)), ("statistics:median", {"at_least": 1}, ())):
        verdict, _, row = bounded([LATE], {"across": across, **criterion}, others=other)
        assert (verdict, row.values, row.left_out) == ("not run", values, ("Toy, l",))
    # Nor did the other side reach it, so that there is no bound.
    others = {("fast", "g", 0): {"error": {12: 9.0}}}
    verdict, _, row = bounded([{12: 9.0}], {"across": "smallest", "at_least": 3}, others=others)
    assert (verdict, row.values, row.reason) == ("not run", (), "not reached in all runs of Toy, g")


def test_a_level_can_be_what_a_paper_prints():
    level = {"printed": "exact_errors", "method": "exact", "metric": "error"}
    metrics = {"epochs": {"label": "epochs", "first_passage": {"of": "error", "at_most": level, "plus": 0.5}}}
    curves = {("fast", kernel, 0): {"error": {1: 5.0, 2: 3.4, 3: 2.0}} for kernel in "glm"}
    comparison, measured = made(curves, metrics=metrics)
    rows = [("exact", "kernel=g", 3.0), ("fast", "kernel=l", 9.0), ("exact", "kernel=l", 4.5)]
    comparison["printed"] = {
        "exact_errors": [
            {"dataset": "Toy", "method": method, "setting": setting, "metric": "error", "published": str(value)}
            for method, setting, value in rows
        ]
    }
    found = Measurements(comparison, measured)
    assert [found.curves(series, "epochs") for series in comparison["series"]] == [[{None: 2.0}], [{None: 1.0}], [{}]]


def test_what_some_runs_reached_is_told():
    curves = {**RACE, ("fast", "g", 1): {"error": {1: 9.0, 2: 9.0, 3: 9.0}}, ("fast", "g", 2): RACE["fast", "g", 0]}
    comparison, measured = made(curves, metrics=REACHED, published=[("Toy", "fast", "kernel=g", "epochs_needed", "2")])
    row = next(row for row in rows_of(comparison, measured) if row["method"] == "fast")
    # The mean is more than 7/3, which may lie within the margin of 1.
    assert (row["verdict"], row["measured_mean"], row["low"], row["high"]) == ("undecided", "", "2.33333", "inf")
    assert row["reason"] == "not reached within 3 epochs by 1 of 3 runs, by the others after 2 and 2"


@pytest.mark.parametrize(
    ("criterion", "largest", "decides"),
    [
        ({"at_least": 30}, 5.0, True),
        ({"between": [30, 70]}, 102.5, True),
        ({"between": [30, 70]}, 50.0, False),
        ({"at_most": 9}, 10.0, True),
        ({"at_most": 9}, 8.0, False),
    ],
)
def test_the_largest_of_what_was_reached_decides_where_a_larger_one_would_say_the_same(criterion, largest, decides):
    assert claims.decides_without_rest(criterion, largest) is decides
