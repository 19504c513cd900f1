"""Metrics and claims on small made-up records; levels that are reached have their own file."""

import math

import pytest

from claims_example import claim_of, made, rows_of
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.planning import target_entry
from shallows_papers.experiments.planning.configuration import ConfigurationError
from shallows_papers.papers.claim_functions import ratio

PAPERS = "shallows_papers.papers"
FALLING = {("fast", "g", 0): {"error": {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}}}


# Reductions along the index


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ({"at": 2}, 4.0),
        ({"reduce": "last"}, 1.0),
        ({}, 1.0),
        ({"reduce": "largest", "from": 2}, 4.0),
        ({"reduce": "smallest", "to": 4}, 2.0),
        ({"reduce": "mean"}, 3.75),
        ({"reduce": "slope"}, -1.0),
        ({"reduce": f"{PAPERS}.eigenpro.claims:slope_of_logarithms"}, -2.3 / math.log(2)),
        ({"reduce": "growth"}, 0.125),
        ({"reduce": f"{PAPERS}.lecture.claims:last_increment"}, 0.25),
    ],
)
def test_a_curve_is_reduced_to_the_number_that_the_claim_names(claim, value):
    (row,) = claim_of({"label": "x", "at_most": 100, **claim}, FALLING, published="said")
    assert float(row["measured_mean"]) == pytest.approx(value, rel=1e-6)
    assert row["verdict"] == "reproduced, one seed" and row["published"] == "said"


@pytest.mark.parametrize(
    ("criterion", "is_met"),
    [
        ({"at_most": 1.0}, True),
        ({"at_most": 0.9}, False),
        ({"at_least": 1.0}, True),
        ({"at_least": 1.1}, False),
        ({"between": [0.5, 1.5]}, True),
        ({"between": [1.5, 2.0]}, False),
        ({"tolerance": {"relative": 0.5}}, True),
        ({"tolerance": {"absolute": 0.2}}, False),
    ],
)
def test_a_claim_is_judged_by_its_own_criterion_unless_the_program_halved_steps(criterion, is_met):
    claim = {"label": "x", "evidence": "order", **criterion}
    for record, verdict in (({}, "reproduced, one seed" if is_met else "deviates"), ({"rollbacks": 2}, "undecided")):
        (row,) = claim_of(claim, FALLING, published="1.5", record=record)
        assert row["verdict"] == verdict
    (row,) = claim_of({**claim, "evidence": "own"}, FALLING)  # which no paper makes
    assert row["verdict"] == "not comparable"


@pytest.mark.parametrize("claim", [{"metric": "eror"}, {"less": {"metric": "eror", "method": "fast"}}])
def test_a_metric_that_no_run_measured_is_told_with_the_nearest(claim):
    with pytest.raises(UnknownNameError, match=r"no metric of the claim 'claim' 'eror'. Did you mean 'error'"):
        claim_of({"label": "x", "at_most": 1, **claim}, FALLING)


def test_a_printed_claim_about_a_metric_that_is_measured_on_other_data_alone_was_not_run():
    (row,) = claim_of({"label": "x", "at_most": 1, "metric": "bayes_ratio"}, FALLING, published="said")
    assert row["verdict"] == "not run"


@pytest.mark.parametrize("part", [{"from": 9}, {"to": 0}])
def test_a_part_of_a_curve_without_a_point_has_no_number(part):
    (row,) = claim_of({"label": "x", "at_most": 100, **part}, FALLING, published="said")
    assert (row["verdict"], row["measured_mean"]) == ("not run", "")


def test_what_the_paper_says_of_what_was_not_measured_is_not_run():
    said = [("Toy", "slow", "", "claim", "words"), ("Toy", "fast", "kernel=l", "claim", "others")]
    claim = {"claim": {"label": "x", "evidence": "order", "at_most": 5}}
    comparison, measured = made(FALLING, metrics={"error": {"label": "e"}}, claims=claim, published=said)
    rows = [row for row in rows_of(comparison, measured) if row["metric"] == "claim"]
    assert [(row["method"], row["published"], row["verdict"]) for row in rows] == [
        ("fast", "", "not comparable"),
        ("slow", "words", "not run"),
        ("fast", "others", "not run"),
    ]


def test_a_claim_ends_where_another_series_passes_a_level_run_by_run():
    falling = {
        ("slow", "g", 0): {"error": {1: 8.0, 2: 5.0, 4: 3.0}, "loss": {1: 4.0, 2: 1.02, 4: 1.0}},
        ("slow", "g", 1): {"error": {1: 8.0, 2: 5.0, 4: 4.0}, "loss": {1: 4.0, 2: 1.03, 4: 1.0}},
        **{("fast", "g", seed): {"error": {1: 7.0, 2: 2.0, 4: 1.0 - seed}} for seed in (0, 1)},
    }
    passage = {"of": "loss", "at_most": {"method": "slow"}, "times": 1.02}
    metrics = {"error": {"label": "e"}, "loss": {"label": "l"}, "converged": {"label": "c", "first_passage": passage}}
    claim = {
        "label": "x",
        "evidence": "own",
        "metric": "error",
        "to": {"method": "slow", "metric": "converged"},
        "at_most": 9,
    }
    comparison, measured = made(
        falling, metrics=metrics, claims={"claim": claim, "lead": {**claim, "less": {"method": "slow"}}}
    )
    found = {(row["metric"], row["method"]): row["values"] for row in rows_of(comparison, measured)}
    assert found["claim", "slow"] == "5.0;4.0" and found["claim", "fast"] == "2.0;0.0"
    assert found["lead", "fast"] == "-3.0;-4.0"
    never = {**passage, "at_most": 0.5}
    comparison, measured = made(
        falling, metrics={**metrics, "converged": {"label": "c", "first_passage": never}}, claims={"claim": claim}
    )
    assert not [row for row in rows_of(comparison, measured) if row["metric"] == "claim" and row["measured_mean"]]


# Several series


TWO = {
    **{
        ("fast", kernel, seed): {"error": {1: 2.0 * k, 2: 1.0 * k}}
        for k, kernel in ((1, "g"), (2, "l"))
        for seed in (0, 1)
    },
    **{("slow", kernel, seed): {"error": {1: 8.0, 2: 6.0}} for kernel in "gl" for seed in (0, 1)},
}


def test_a_series_is_divided_by_the_one_that_differs_as_the_claim_says():
    found = claim_of({"label": "x", "of": {"method": "slow"}, "over": {"method": "fast"}, "at_most": 9}, TWO)
    assert {row["setting"]: float(row["measured_mean"]) for row in found} == {"kernel=g": 6.0, "kernel=l": 3.0}
    assert {row["seeds"] for row in found} == {"0 1"}


@pytest.mark.parametrize("points", [(100, 400), (2, 400)], ids=["no common mark", "a common mark before both ends"])
def test_curves_that_end_at_different_marks_are_divided_at_their_ends(points):
    curves = {("slow", "g", 0): {"error": {1: 8.0, 2: 6.0}}}
    curves |= {("fast", "g", 0): {"error": dict(zip(points, (2.0, 3.0), strict=True))}}
    claim = {"label": "x", "of": {"method": "slow"}, "over": {"method": "fast"}, "at_most": 9}
    (row,) = claim_of(claim, curves, published="said")
    assert float(row["measured_mean"]) == 2.0 and row["verdict"] == "reproduced, one seed"
    (row,) = claim_of({**claim, "reduce": "largest"}, curves, published="said")
    assert (row["verdict"] == "not run") == (2 not in points)


@pytest.mark.parametrize(("across", "value"), [("smallest", 3.0), ("largest", 6.0)])
def test_several_series_make_one_number(across, value):
    claim = {"label": "x", "of": {"method": "slow"}, "over": {"method": "fast"}, "across": across, "at_most": 9}
    (row,) = claim_of(claim, TWO, published="said")
    assert float(row["measured_mean"]) == value and row["verdict"] == "reproduced"
    assert len(row["records"].split(";")) == 4


@pytest.mark.parametrize(("of", "values"), [({}, [1.0, 2.0]), ({"data": "any"}, [1.0])])
def test_settings_of_each_dataset_make_one_number_or_those_of_all(of, values):
    claim = {"label": "x", "evidence": "own", "of": {"method": "fast", **of}, "across": "smallest", "at_most": 9}
    comparison, measured = made(TWO, metrics={"error": {"label": "error"}}, claims={"claim": claim})
    for series in comparison["series"]:
        series["data"] = {"g": "Toy", "l": "Other"}[series["setting"]["kernel"]]
    rows = [row for row in rows_of(comparison, measured) if row["metric"] == "claim"]
    assert [float(row["measured_mean"]) for row in rows] == values


def test_the_largest_gap_is_over_all_common_points():
    gap = f"{PAPERS}.eigenpro.claims:largest_log_gap"
    claim = {"label": "x", "of": {"method": "fast"}, "metric": "share", "across": gap, "at_most": 9}
    shares = {"error": {"label": "e"}, "share": {"label": "s", "of": "error", "over": "first"}}
    (row,) = claim_of(claim, TWO, metrics=shares)
    assert float(row["measured_mean"]) == 0.0
    (row,) = claim_of({**claim, "metric": "error", "over": {"method": "slow"}}, TWO)
    assert float(row["measured_mean"]) == pytest.approx(math.log10(2))


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"at_most": 1.5}, "undecided"),  # the interval over 0, 1 and 2 reaches from −1.5 to 3.5
        ({"at_most": 4.0}, "reproduced"),
        ({"at_most": -2.0}, "deviates"),
        ({"at_most": 1.5, "every_seed": True}, "deviates"),
        ({"at_least": 0.5, "every_seed": True}, "deviates"),
        ({"at_least": 0.0, "every_seed": True}, "reproduced"),
    ],
)
def test_a_criterion_may_have_to_hold_for_every_seed(claim, verdict):
    curves = {("fast", "g", seed): {"error": {1: float(seed)}} for seed in (0, 1, 2)}
    (row,) = claim_of({"label": "x", **claim}, curves, published="said")
    assert row["verdict"] == verdict and float(row["measured_mean"]) == 1.0


OVER_ITSELF = {"over": {"metric": "scale"}}


@pytest.mark.parametrize(
    ("value", "criterion", "verdict"),
    [
        (math.inf, {"at_least": 1, **OVER_ITSELF}, "undecided"),
        (math.inf, {"at_least": 1}, "deviates"),
        (math.nan, {"at_most": 1, **OVER_ITSELF}, "undecided"),  # neither side ended
        (math.inf, {"at_most": 1, **OVER_ITSELF}, "deviates"),
    ],
)
def test_a_ratio_is_undecided_where_a_side_has_not_ended(value, criterion, verdict):
    curves = {("fast", "g", seed): {"error": {1: value}, "scale": {None: 1.0}} for seed in (0, 1)}
    (row,) = claim_of({"label": "x", **criterion}, curves, published="said")
    assert row["verdict"] == verdict
    assert row["reason"].endswith("the ratio is not known") == (verdict == "undecided")


@pytest.mark.parametrize(("limit", "verdict"), [(2, "deviates"), (3, "deviates"), (4, "not run")])
def test_a_level_that_is_never_passed_is_too_late_where_the_runs_went_on_for_as_long_as_is_claimed(limit, verdict):
    metrics = {"error": {"label": "e"}, "passage": {"label": "p", "first_passage": {"of": "error", "at_most": 0.5}}}
    curves = {("fast", "g", 0): {"error": {1: 3.0, 2: 2.0, 3: 1.0}}}
    claim = {"label": "x", "metric": "passage", "at_most": limit}
    (row,) = claim_of(claim, curves, metrics=metrics, published="said")
    assert row["verdict"] == verdict
    assert "not reached in 1 of 1 runs" in row["reason"]


def test_a_number_at_no_mark_divides_a_curve():
    curves = {("fast", "g", 0): {"error": {1: 8.0, 2: 4.0}, "scale": {None: 4.0}}}
    (row,) = claim_of({"label": "x", "over": {"metric": "scale"}, "reduce": "largest", "at_most": 9}, curves)
    assert float(row["measured_mean"]) == 2.0


def test_a_quotient_by_nothing_is_infinite_or_no_number():
    assert ratio(1.0, 0.0) == math.inf and ratio(-1.0, 0.0) == -math.inf and math.isnan(ratio(0.0, 0.0))


def test_a_reference_that_several_answer_to_is_refused():
    claim = {"label": "x", "of": {"method": "slow"}, "over": {"method": "fast", "kernel": "any"}, "at_most": 9}
    with pytest.raises(ShallowsError, match="2 series fit it"):
        claim_of(claim, TWO)


# Values


def test_a_target_may_name_any_metric_of_methods_that_transform():
    curves = {
        ("kernel PCA", "g", seed): {"angle": {10: 0.4 + seed, 100: 0.1}, "correlation": {None: 0.9}} for seed in (0, 1)
    }
    metrics = {
        "angle": {"label": "angle of the subspaces", "better": "lower", "tolerance": {"absolute": 0.1}},
        "correlation": {"label": "canonical correlation", "better": "higher"},
        "iterations": {"label": "iterations", "first_passage": {"of": "angle", "at_most": 0.5}},
    }
    said = [("Toy", "kernel PCA", "kernel=g; epochs=100", "angle", "0.15")]
    comparison, measured = made(curves, metrics=metrics, published=said)
    target_entry.check("toy", comparison["spec"])
    found = {(row["metric"], row["setting"]): row for row in rows_of(comparison, measured)}
    assert found["angle", "kernel=g; epochs=100"]["verdict"] == "reproduced"
    assert float(found["correlation", "kernel=g"]["measured_mean"]) == 0.9
    assert found["iterations", "kernel=g"]["measured_mean"] == "55"


def test_a_point_of_a_curve_and_a_number_that_the_paper_does_not_print_say_so():
    curves = {("fast", "g", 0): {"error": {1: 2.0, 2: 1.0}, "total": {None: 7.0}}}
    comparison, measured = made(curves, metrics={name: {"label": name} for name in ("error", "total")}, kind="curves")
    assert {row["metric"]: row["reason"] for row in rows_of(comparison, measured)} == {
        "error": "the paper draws this curve and prints no number",
        "total": "the paper prints no number",
    }


def test_a_metric_with_the_name_of_its_mark_is_refused():
    metrics = {"epochs": {"label": "epochs", "unit": ""}}
    with pytest.raises(ConfigurationError, match="'epochs' is both a metric and the mark"):
        target_entry.check("toy", {"mark": "epochs", "metrics": metrics, "settings": {}, "methods": {}})


def test_a_claim_that_ends_where_another_series_does_needs_its_first_passage():
    claim = {"label": "x", "evidence": "own", "at_most": 1, "to": {"method": "slow", "metric": "error"}}
    spec = {"metrics": {"error": {"label": "e"}}, "claims": {"claim": claim}, "settings": {}, "methods": {"slow": {}}}
    with pytest.raises(ConfigurationError, match="The metric in 'to' must have a first_passage"):
        target_entry.check("toy", spec)


# Curves as they are written


@pytest.mark.parametrize(
    ("rows", "curve", "along"),
    [
        (
            [{"epoch": "2", "iteration": "40", "seconds": "1.5", "metric": "error", "value": "3"}],
            {"error": {2: 3.0}, "iteration": {2: 40.0}, "seconds": {2: 1.5}},
            "epochs",
        ),
        (
            [{"angle": "0.25", "metric": "height", "value": "1"}, {"angle": "", "metric": "area", "value": "5"}],
            {"height": {0.25: 1.0}, "area": {None: 5.0}},
            "angle",
        ),
        ([{"metric": "error", "value": "3"}], {"error": {None: 3.0}}, "epochs"),
    ],
    ids=["columns and the mark", "another mark", "no marks"],
)
def test_a_curve_is_read_with_its_mark(rows, curve, along):
    run = RunResult.of("runs/x", {"run": {"id": "x"}}, rows, "epochs")
    assert run.curve == curve and run.along == along


def test_a_curve_with_several_columns_and_none_of_the_name_is_refused():
    rows = [{"epoch": "1", "seconds": "1", "metric": "error", "value": "3"}]
    with pytest.raises(ShallowsError, match="no column 'index'"):
        RunResult.of("runs/x", {"run": {"id": "x"}}, rows, "index")


# The configuration


def test_marks_are_a_list_or_a_range_with_both_ends():
    assert target_entry.marks({}) == ()
    assert target_entry.marks({"marks": [1, 5]}) == (1, 5)
    assert target_entry.marks({"marks": {"to": 3}}) == (1, 2, 3)
    assert target_entry.marks({"marks": {"from": 5, "to": 15, "step": 5}}) == (5, 10, 15)
    assert target_entry.marks({"marks": {"seconds": [1, 10]}}) == (1, 10)
    units = [target_entry.unit(group) for group in ({}, {"marks": [1]}, {"marks": {"seconds": [1]}})]
    assert units == ["", "", "seconds"]


# Two series

SERIES = {
    **{("fast", "g", seed): {"error": {1: 2.0, 2: 1.0}} for seed in (0, 1)},
    **{("fast (ours)", "g", seed): {"error": {1: 1.0, 2: 0.25}} for seed in (0, 1)},
    **{("slow", "g", seed): {"error": {1: 8.0, 2: 6.0}} for seed in (0, 1)},
}


def two_series(published=(), claims=None):
    metrics = {"error": {"label": "error", "evidence": "number", "tolerance": {"absolute": 0.1}}}
    comparison, measured = made(SERIES, metrics=metrics, claims=claims, published=published)
    comparison["spec"]["methods"] = {
        "fast": {"method": "m", "sources": {}},
        "fast (ours)": {"method": "m", "ours": "fast"},
        "slow": {"method": "m"},
    }
    rows = rows_of(comparison, measured)
    return {(row["method"], row["setting"].rpartition("; epochs=")[2], row["metric"]): row for row in rows}


def test_the_paper_s_series_alone_is_judged_and_ours_stands_beside_it_with_a_ratio():
    said = [("Toy", method, "kernel=g; epochs=1", "error", "2") for method in ("fast", "slow")]
    rows = two_series(said)
    told = ("series", "verdict", "published", "ratio")
    assert [rows["fast", "1", "error"][key] for key in told] == ["authors", "reproduced", "2", ""]
    assert [rows["fast (ours)", "1", "error"][key] for key in told] == ["ours", "measured", "", "0.5"]
    assert [rows["fast (ours)", "2", "error"][key] for key in told] == ["ours", "measured", "", "0.25"]
    assert [rows["slow", "1", "error"][key] for key in told] == ["", "deviates", "2", ""]


def test_a_claim_is_of_the_paper_s_series_and_made_again_for_ours():
    order = {"label": "x", "evidence": "theorem"}
    claims = {
        "beside": {**order, "of": {"method": "fast"}, "over": {"method": "slow"}, "at_most": 9},
        "all": {**order, "at_most": 5.5, "across": "largest"},
    }
    said = [("Toy", "", "", name, "words") for name in claims]
    rows = [row for row in two_series(said, claims).values() if row["metric"] in claims]
    told = ("metric", "series", "published", "verdict")
    assert [(*(row[key] for key in told), float(row["measured_mean"])) for row in rows] == [
        ("beside", "authors", "words", "reproduced", pytest.approx(1 / 6)),
        ("beside", "ours", "", "measured", pytest.approx(1 / 24)),
        ("all", "", "words", "deviates", 6.0),
        ("all", "ours", "", "measured", 0.25),
    ]
    assert rows[1]["ratio"] == "0.25"
