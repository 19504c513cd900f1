"""Verdicts by kind of evidence: tolerances, intervals, missing values, facts, and each printed item counted once."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from claims_example import claim_of, made, rows_of
from shallows_papers.experiments.comparing import uncertainty, verdicts
from shallows_papers.experiments.comparing.evaluations import wrong_points
from shallows_papers.experiments.comparing.table_rows import Measured, Row, counts_by_kind
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.experiments.running import analysis_run
from shallows_papers.papers.claim_functions import slope
from shallows_papers.papers.results import AnalysisResult


def seeds(*values, method="fast", along=1):
    return {(method, "g", seed): {"error": {along: value}} for seed, value in enumerate(values)}


def judged_cells(curves, published, *, name="error", setting="kernel=g", **metric):
    """The rows of a metric that the paper prints for the method "fast"."""
    metrics = {name: {"label": name, "evidence": "number", **metric}}
    comparison, measured = made(curves, metrics=metrics, published=[("Toy", "fast", setting, name, published)])
    return rows_of(comparison, measured)


# Tolerances


@pytest.mark.parametrize(
    ("printed", "half"), [("15", 0.5), ("15.0", 0.05), ("0.70", 0.005), ("2.17e-05", 5e-8), ("1e-4", 5e-5), ("-3", 0.5)]
)
def test_half_of_the_last_digit_is_read_off_the_printed_text(printed, half):
    assert uncertainty.half_digit(printed) == pytest.approx(half)


ONE = Measured((1.0,))


def runs_of(n):
    return [SimpleNamespace(record={"data": {"n_test": 10_000, "n_train": 60_000}}) for _ in range(n)]


def test_the_parts_of_a_tolerance_are_added():
    assert uncertainty.margin("2.0", {"absolute": 0.1, "relative": 0.05}) == pytest.approx(0.2)
    assert uncertainty.margin("2.0", {"half_digit": True}) == pytest.approx(0.05)
    assert uncertainty.margin("2.0", {"absolute": 0.1}, Measured((1.0, 3.0))) == 0.1  # the spread is not asked for


def test_a_tolerance_is_said_part_by_part():
    parts = {"absolute": 0.1, "relative": 0.05, "half_digit": True, "standard_errors": 2}
    said = "0.1 + 5% of the published value + half of the last printed digit + 2 standard errors"
    assert verdicts.criterion({"tolerance": parts}) == f"±({said})"
    assert verdicts.criterion({"tolerance": {"relative": 0.2}}) == "±(20% of the published value)"
    assert verdicts.criterion({"tolerance": {}}) == "±0"


def test_an_error_that_is_counted_has_the_standard_error_of_its_count():
    tolerance = {"standard_errors": 2, "counted_on": "test"}
    assert uncertainty.margin("1.0", tolerance, ONE, runs_of(1)) == pytest.approx(200 * math.sqrt(0.01 * 0.99 / 1e4))
    on_train = uncertainty.margin("1.0", {**tolerance, "counted_on": "train"}, ONE, runs_of(1))
    assert on_train == pytest.approx(200 * math.sqrt(0.01 * 0.99 / 6e4))
    assert uncertainty.margin("1.0", {**tolerance, "counted_on": 100}, ONE, runs_of(1)) > on_train
    assert uncertainty.standard_error(0.0, 200) == uncertainty.standard_error(100.0, 200) == pytest.approx(0.5)


def test_the_spread_over_seeds_counts_for_both_sides_where_the_paper_prints_none():
    values = Measured((1.0, 1.2, 1.4))  # a standard deviation of 0.2, and the printed value as one more of them
    for measured, printed, factor in (
        (values, "", 0.2 * math.sqrt(1 + 1 / 3)),
        (Measured((1.0, 1.2, 1.4), 5), "", 0.2 * math.sqrt(1 + 1 / 3)),  # two repetitions gave no value
        (values, "0.05", math.sqrt(0.2**2 / 3 + 0.05**2)),
    ):
        found = uncertainty.margin("1.2", {"standard_errors": 2}, measured, runs_of(3), printed)
        assert found == pytest.approx(2 * factor)


def test_the_margin_of_a_cell_stands_beside_it():
    tolerance = {"half_digit": True, "standard_errors": 2, "counted_on": "test", "reason": "chance and rounding"}
    found = judged_cells(seeds(1.2, 1.2, along=None), "1.0", tolerance=tolerance, fixed="after a look")
    (row,) = found
    expected = 0.05 + 200 * math.sqrt(0.01 * 0.99 / 1e4)
    assert float(row["margin"]) == pytest.approx(expected, rel=1e-3) and row["verdict"] == "reproduced"
    assert (row["evidence"], row["fixed"]) == ("number", "after a look")
    assert row["tolerance"].endswith("(chance and rounding)")


# Runs that diverged


def diverged_table(curves, *diverged, **given):
    """Rows by metric and setting, where runs of the method "fast" diverged with some seeds."""
    error = {"label": "error", "evidence": "number", "tolerance": {"absolute": 0.5}}
    metrics = {"error": error, **given.pop("metrics", {})}
    comparison, measured = made(curves, metrics=metrics, **given)
    for seed in diverged:
        measured[f"fast-g-{seed}"].record["diverged"] = "Training diverged in epoch 2."
    return {(row["method"], row["metric"], row["setting"]): row for row in rows_of(comparison, measured)}


PRINTED_ERRORS = [("Toy", "fast", f"kernel=g; epochs={epochs}", "error", "1.0") for epochs in (1, 2)]


@pytest.mark.parametrize(
    ("curves", "diverged", "reason"),
    [
        ({0: {1: 1.0, 2: 1.0}, 1: {1: 1.0}}, [1], "diverged in 1 of 2 runs"),
        ({0: {1: 1.0}, 1: {1: 1.0}}, [0, 1], "diverged in 2 of 2 runs"),
    ],
    ids=["one seed", "both seeds"],
)
def test_a_cell_after_a_run_diverged_is_no_number_and_deviates(curves, diverged, reason):
    others = {("slow", "g", 0): {"error": {1: 3.0, 2: 3.0}}}
    found = diverged_table(
        {**{("fast", "g", seed): {"error": curve} for seed, curve in curves.items()}, **others},
        *diverged,
        published=PRINTED_ERRORS,
        marks=[1, 2],
    )
    before, after = (found["fast", "error", f"kernel=g; epochs={epochs}"] for epochs in (1, 2))
    assert (float(before["measured_mean"]), before["verdict"]) == (pytest.approx(1.0), "reproduced")
    assert (after["measured_mean"], after["verdict"], after["reason"]) == ("nan", "deviates", reason)
    assert found["slow", "error", "kernel=g; epochs=2"]["measured_mean"] == "3"


def test_a_run_that_diverged_before_its_first_mark_has_its_cells_too():
    curves = {("fast", "g", 0): {}, ("slow", "g", 0): {"error": {1: 3.0, 2: 3.0}}}
    found = diverged_table(curves, 0, published=PRINTED_ERRORS, marks=[1, 2])
    for epochs in (1, 2):
        row = found["fast", "error", f"kernel=g; epochs={epochs}"]
        assert (row["measured_mean"], row["verdict"]) == ("nan", "deviates")
    # What the paper does not print is shown as diverged too, and not judged.
    beside = diverged_table(curves, 0, marks=[1, 2])["fast", "error", "kernel=g; epochs=2"]
    assert (beside["measured_mean"], beside["verdict"]) == ("nan", "not comparable")
    assert beside["reason"].startswith("diverged in 1 of 1 runs")


@pytest.mark.parametrize("over", [{}, {"over": {"method": "slow"}}], ids=["value", "ratio"])
def test_a_level_and_a_claim_say_that_a_run_diverged(over):
    needed = {"label": "epochs", "evidence": "number", "first_passage": {"of": "error", "at_most": 0.5}}
    claim = {"label": "x", "evidence": "order", "of": {"method": "fast"}, "metric": "error", "at_most": 2.0, **over}
    found = diverged_table(
        {("fast", "g", 0): {"error": {1: 1.0}}, ("slow", "g", 0): {"error": {1: 0.4, 2: 0.3}}},
        0,
        marks=[1, 2],
        metrics={"needed": needed},
        claims={"claim": claim},
        published=[("Toy", "fast", "kernel=g", "needed", "2"), ("Toy", "fast", "kernel=g", "claim", "small")],
    )
    assert found["fast", "needed", "kernel=g"]["reason"] == "not reached within 2 epochs; diverged in 1 of 1 runs"
    row = found["fast", "claim", "kernel=g"]
    assert row["verdict"] == "deviates" and row["reason"].endswith("; diverged in 1 of 1 runs")


# Intervals


PAIRED = {"label": "x", "of": {"method": "slow"}, "less": {"method": "fast"}, "paired": True, "at_most": 0.0}


@pytest.mark.parametrize(
    ("slow", "verdict"),
    [
        ((4.0, 5.1, 5.9), "reproduced"),  # below by about one with each seed, though the seeds lie far apart
        ((6.0, 7.1, 7.9), "deviates"),
        ((4.0, 7.0, 6.9), "undecided"),
        ((4.0,), "undecided"),
    ],
)
def test_a_difference_between_methods_is_judged_by_its_interval_over_seeds(slow, verdict):
    curves = {**seeds(5.0, 6.0, 7.0), **seeds(*slow, method="slow")}
    curves = {key: curve for key, curve in curves.items() if key[2] < len(slow)}
    (row,) = claim_of(PAIRED, curves, published="better")
    assert row["verdict"] == verdict
    if len(slow) > 1:
        low, mean, high = (float(row[key]) for key in ("low", "measured_mean", "high"))
        assert low < mean < high and mean == pytest.approx(np.mean(np.subtract(slow, (5.0, 6.0, 7.0))))
    else:
        assert row["low"] == "" and "one repetition gives no interval" in row["reason"]


@pytest.mark.parametrize(
    ("n_seeds", "change", "verdict"),
    [
        (5, {}, "reproduced"),
        (4, {}, "undecided"),
        (1, {"paired": False}, "undecided"),
        (4, {"less": {"kernel": "g"}, "at_most": 9.0}, "reproduced"),  # of one method
        (4, {"at_most": None, "between": [-2.0, 0.0]}, "reproduced"),  # comparable is not better
    ],
)
def test_a_claim_that_a_method_is_better_needs_five_seeds(n_seeds, change, verdict):
    curves = {**seeds(*range(5, 5 + n_seeds)), **seeds(*(4.1 + seed for seed in range(n_seeds)), method="slow")}
    claim = {key: value for key, value in {**PAIRED, "evidence": "order", **change}.items() if value is not None}
    (row,) = claim_of(claim, curves, published="better")
    assert row["verdict"] == verdict and ("fewer than five seeds" in row["reason"]) == (verdict == "undecided")


@pytest.mark.parametrize(
    ("slow", "printed", "expected"),
    [
        (5.5, ("5", "5.5"), ["undecided", "undecided"]),  # "slow" is worse, and either number fits both methods
        (4.5, ("5", "4.5"), ["reproduced", "reproduced"]),  # "slow" is better, as printed
        (5.5, ("5", "9"), ["reproduced", "deviates"]),  # no number fits the other method
    ],
)
def test_a_number_that_fits_a_rival_as_well_is_reproduced_only_with_the_order(slow, printed, expected):
    metrics = {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1.0}}}
    numbers = dict(zip(("fast", "slow"), printed, strict=True))
    said = [("Toy", method, "kernel=g; epochs=1", "error", text) for method, text in numbers.items()]
    said.append(("Toy", "slow", "", "claim", "better"))
    values = {"fast": [5.0 + 0.01 * n for n in range(5)], "slow": [slow + 0.01 * n for n in range(5)]}
    curves = {**seeds(*values["fast"]), **seeds(*values["slow"], method="slow")}
    claims = {"claim": {**PAIRED, "evidence": "order"}}
    comparison, measured = made(curves, metrics=metrics, claims=claims, published=said)
    rows = {(row["method"], row["metric"]): row for row in rows_of(comparison, measured)}
    assert [rows[method, "error"]["verdict"] for method in numbers] == expected
    is_told = "order is not reproduced (claim)" in rows["fast", "error"]["reason"]
    assert is_told == (expected[0] == "undecided")


def test_an_interval_is_that_of_students_t():
    reach = 4.302653 * 2.0 / math.sqrt(3)  # the deviation is 2, which no power of 1 would show
    assert uncertainty.interval(Measured((0.0, 2.0, 4.0))) == pytest.approx((2 - reach, 2 + reach), rel=1e-6)
    assert uncertainty.interval(ONE) is None and uncertainty.interval(Measured((1.0, math.inf))) is None


def test_a_difference_of_counted_errors_has_an_interval_without_seeds():
    claim = {key: value for key, value in PAIRED.items() if key != "at_most"} | {"paired": "counted", "at_least": 0.0}
    for slow, verdict in ((5.2, "undecided"), (7.0, "reproduced"), (3.0, "deviates")):
        (row,) = claim_of(claim, {**seeds(5.0), **seeds(slow, method="slow")}, published="worse")
        assert row["verdict"] == verdict
        reach = 1.959964 * math.sqrt(100 * (5.0 + slow) / 10_000)
        assert float(row["high"]) - float(row["measured_mean"]) == pytest.approx(reach, rel=1e-4)


def bits(*places):
    """The misclassified points of 10,000, by their places."""
    scores, truth = np.zeros((10_000, 2)), np.zeros(10_000, dtype=int)
    scores[:, 0] = 1.0
    truth[[*places]] = 1
    return wrong_points({"scores": scores, "truth": truth, "classes": np.array([0, 1])})


@pytest.mark.parametrize(
    ("slow", "verdict", "discordant"),
    [
        # The difference is always ten points of 10,000; z = 10/√discordant.
        (range(110), "reproduced", 10),
        (range(10, 120), "undecided", 30),
        (range(50, 160), "undecided", 110),
    ],
)
def test_with_the_outputs_of_both_runs_a_difference_is_judged_by_mcnemars_test(slow, verdict, discordant):
    claim = {key: value for key, value in PAIRED.items() if key != "at_most"} | {"paired": "counted", "at_least": 0.0}
    curves = {**seeds(1.0), **seeds(len(slow) / 100, method="slow")}
    comparison, measured = made(
        curves,
        metrics={"error": {"label": "error"}},
        claims={"claim": {"evidence": "theorem", **claim}},
        published=[("Toy", "", "", "claim", "worse")],
    )
    of = {name: bits(*(slow if "slow" in name else range(100))) for name in measured}
    measured = {name: replace(run, wrong=of[name]) for name, run in measured.items()}
    (row,) = [row for row in rows_of(comparison, measured) if row["metric"] == "claim"]
    assert row["verdict"] == verdict
    reach = 1.959964 * math.sqrt(discordant) / 100
    assert float(row["high"]) - float(row["measured_mean"]) == pytest.approx(reach, rel=1e-4)


# What is missing or not finite


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, 0.0, -1.0])
def test_a_curve_that_diverges_has_no_slope(broken):
    falling = {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}
    assert slope(falling) == pytest.approx(-1.0)
    assert math.isnan(slope({**falling, 16: broken}))
    claim = {"label": "x", "reduce": "slope", "between": [-1.5, -0.5]}
    (row,) = claim_of(claim, {("fast", "g", 0): {"error": {**falling, 16: broken}}}, published="1/t")
    assert row["verdict"] == "deviates" and "not finite" in row["reason"]


@pytest.mark.parametrize("broken", [math.inf, math.nan])
@pytest.mark.parametrize(
    "criterion", [{"at_least": 1.0}, {"at_least": 1.0, "every_seed": True}, {"at_most": 9.0}, PAIRED]
)
def test_what_is_not_finite_satisfies_no_criterion(criterion, broken):
    beside = seeds(2.0, 2.0) if "of" in criterion else {}
    curves = beside | seeds(2.0, -broken, method="slow") if beside else seeds(2.0, broken)
    (row,) = claim_of({"label": "x", **criterion}, curves, published="large")
    assert row["verdict"] == "deviates"


@pytest.mark.parametrize("others", [{}, seeds(2.0, method="slow")], ids=["a mean", "the smallest of two series"])
def test_runs_without_a_value_are_told_and_not_averaged_away(others):
    curves = {**seeds(2.0, 2.0), ("fast", "g", 2): {"error": {}}, **others}
    across = {"across": "smallest"} if others else {}
    (row,) = claim_of({"label": "x", "at_most": 9, **across}, curves, published="small")
    assert (row["verdict"], row["measured_mean"]) == ("not run", "")
    assert row["reason"] == f"no value in 1 of {2 if others else 3} runs"


def test_a_value_that_some_runs_lack_is_told_with_their_number():
    curves = {("fast", "g", 0): {"error": {1: 5.0, 2: 4.0}}, ("fast", "g", 1): {"error": {1: 5.0}}}
    found = judged_cells(curves, "4.0", setting="kernel=g; epochs=2", tolerance={"absolute": 1.0})
    row = next(row for row in found if row["published"])
    assert (row["verdict"], row["reason"]) == ("not run", "training ended before 2 epochs in 1 of 2 runs")
    (row,) = judged_cells({("fast", "g", 0): {"error": {}}, ("slow", "g", 0): {"error": {None: 1.0}}}, "4.0")[:1]
    assert (row["verdict"], row["measured_mean"]) == ("not run", "")


def test_an_analysis_leaves_what_is_no_number_in_its_curve_and_no_row_where_it_has_none(tmp_path, monkeypatch):
    found = AnalysisResult([1, 2, 3], {"error": [None, math.nan, 2.0]})
    monkeypatch.setattr(analysis_run, "callable_for", lambda *_: lambda data, random_state, device, memory: found)
    spec = {"seed": 0, "parameters": {}, "marks": (), "definition": {"call": {}, "index": "t", "takes": "data"}}
    data = SimpleNamespace(info={"task": "classification"})
    rows = analysis_run.analyse(
        SimpleNamespace(spec=spec), data, SimpleNamespace(device="cpu", memory=None), tmp_path, ""
    )["rows"]
    assert [row["t"] for row in rows] == [2, 3] and math.isnan(rows[0]["value"])


# Kinds


def test_a_fact_agrees_or_deviates_and_is_never_better():
    fact = {"evidence": "fact", "fixed": "first commit", "tolerance": {"relative": 0.1, "reason": "the paper rounds"}}
    for value, verdict in ((1000.0, "agrees"), (1050.0, "agrees"), (500.0, "deviates"), (2000.0, "deviates")):
        found = judged_cells({("fast", "g", 0): {"n": {None: value}}}, "1000", name="n", **fact)
        assert [row["verdict"] for row in found] == [verdict]


@pytest.mark.parametrize(
    ("claim", "published", "verdict", "reason"),
    [
        ({"evidence": "derivation", "why": "it is a product"}, "large", "derivation", "it is a product"),
        (
            {"evidence": "own", "corrects": "the factor 2, erratum E0", "at_most": 3.0},
            "",
            "not comparable",
            "our correction of what the paper prints (the factor 2, erratum E0); at most 3 holds",
        ),
    ],
    ids=["a derivation", "a correction"],
)
def test_what_is_not_judged_is_shown_with_its_reason_and_counted_nowhere(claim, published, verdict, reason):
    (row,) = claim_of({"label": "x", **claim}, seeds(2.0), published=published)
    assert (row["verdict"], row["measured_mean"], row["reason"], row["tolerance"]) == (verdict, "2", reason, "")
    assert counts_by_kind([Row.from_text(row)]) == {}


def test_a_theorem_says_what_would_contradict_it():
    claim = {"label": "x", "evidence": "theorem", "could_fail": "errors that grow", "at_most": 3.0}
    (row,) = claim_of(claim, seeds(2.0), published="a bound")
    assert row["reason"].endswith("it would fail with errors that grow")


def test_what_can_be_compared_at_no_scale_says_why():
    (row,) = judged_cells({("fast", "g", 0): {"s": {None: 5.0}}}, "583", name="s", why="another machine")
    assert (row["verdict"], row["reason"]) == ("not comparable", "another machine")


# Causes, corrections and quotations


def test_a_calibrated_number_keeps_its_verdict_and_is_counted_as_another_kind():
    metrics = {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1.0}}}
    curves = {place: {"error": {1: 2.0}} for place in (("fast", "g", 0), ("slow", "g", 0))}
    said = [("Toy", method, "kernel=g; epochs=1", "error", "2") for method, *_ in curves]
    comparison, measured = made(curves, metrics=metrics, published=said, scale="laptop")
    where = {"method": "slow", "data": "Toy", "epochs": 1}
    comparison["spec"]["calibrated"] = [{"why": "it chose the step", "where": where}]
    first, second = rows_of(comparison, measured)
    assert (first["evidence"], first["verdict"], first["reason"]) == ("number", "reproduced, one seed", "")
    assert (second["evidence"], second["verdict"]) == ("calibrated", "reproduced, one seed")
    assert second["reason"] == "calibrated: it chose the step"
    assert counts_by_kind([Row.from_text(row) for row in (first, second)]) == {
        "number": {Verdict.ONE_SEED: (1, 0)},
        "calibrated": {Verdict.ONE_SEED: (1, 0)},
    }


CAUSES = [
    {"cause": "other hardware", "why": "for the test of one kernel", "where": {"kernel": "l", "metric": "error"}},
    {
        "cause": "setting not printed",
        "why": "for the test of both",
        "where": {"method": ["fast"], "epochs": 1, "data": "Toy"},
    },
]


def deviating(scale="laptop", causes=CAUSES, published="9"):
    metrics = {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1.0}}}
    curves = {place: {"error": {1: 2.0}} for place in (("fast", "g", 0), ("fast", "l", 0), ("slow", "g", 0))}
    said = [("Toy", method, f"kernel={kernel}; epochs=1", "error", published) for method, kernel, _ in curves]
    comparison, measured = made(curves, metrics=metrics, published=said, scale=scale)
    comparison["spec"]["causes"] = causes
    return rows_of(comparison, measured)


def test_a_deviation_has_the_cause_of_the_first_selection_that_holds_it_and_else_none_is_known():
    rows = deviating()
    assert [(row["verdict"], row["cause"]) for row in rows] == [
        ("deviates", "setting not printed"),
        ("deviates", "other hardware"),
        ("deviates", "unexplained"),
    ]
    assert rows[1]["reason"] == "for the test of one kernel"
    assert {row["cause"] for row in deviating(published="2")} == {""}
    # The demo contradicts nothing.
    assert {(row["verdict"], row["cause"]) for row in deviating(scale="demo")} == {("undecided", "")}


@pytest.mark.parametrize("scale", ["demo", "laptop"])
@pytest.mark.parametrize(("key", "verdict"), [("refuted", "refuted as printed"), ("misprint", "misprint")])
def test_a_contradicted_statement_with_a_correction_is_refuted_as_printed_at_every_scale(scale, key, verdict):
    claim = {"label": "x", "evidence": "theorem", "could_fail": "a three", "at_most": 1, key: "at most 3"}
    (row,) = claim_of(claim, seeds(2.0), published="said", scale=scale)
    assert (row["verdict"], row["cause"]) == (verdict, "refuted as printed") and "at most 3" in row["reason"]
    (row,) = claim_of(claim, seeds(0.5), published="said", scale="laptop")
    assert (row["verdict"], row["cause"]) == ("reproduced, one seed", "") and "at most 3" not in row["reason"]


def test_what_is_quoted_is_shown_and_neither_run_nor_judged():
    metrics = {"hours": {"label": "h", "evidence": "quotation"}, "error": {"label": "e", "evidence": "number"}}
    said = [
        ("Toy", "fast", "kernel=g", "hours", "4.8"),
        ("Toy", "theirs", "", "error", "0.72"),
        ("Toy", "fast", "", "error", "1"),
    ]
    comparison, measured = made(seeds(2.0), metrics=metrics, published=said)
    comparison["published"][1]["evidence"] = "quotation"
    rows = {(row["method"], row["metric"]): row for row in rows_of(comparison, measured) if row["published"]}
    assert [row["verdict"] for row in rows.values()] == ["quotation", "quotation", "not run"]
    assert "quotes" in rows["theirs", "error"]["reason"]


def count_rows(*rows):
    names = ("item", "evidence", "verdict", "fixed", "derived", "target")
    about = {"target": "toy", "dataset": "", "method": "", "metric": "", "scale": "demo", "published": "1"}
    return counts_by_kind([Row(**{**about, **dict(zip(names, row, strict=False))}) for row in rows])


def test_each_printed_item_is_counted_once_with_the_verdict_that_weighs_most():
    first, after = "first commit", "after a look"
    assert count_rows(
        ("1", "number", "reproduced", first, ""),
        ("1", "number", "deviates", after, ""),
        ("2", "number", "not comparable", "", ""),
        ("2", "number", "reproduced, one seed", first, ""),
        ("2", "number", "reproduced", first, ""),
        ("2", "number", "reproduced", first, "", "another target"),
        ("3", "theorem", "undecided", first, ""),
        ("4", "number", "deviates", first, "143/4 of Table 3"),
        ("5", "quotation", "quotation", "", ""),
        ("6", "theorem", "refuted as printed", first, ""),
    ) == {
        "number": {"deviates": (1, 1), "reproduced, one seed": (1, 0), "reproduced": (1, 0)},
        "theorem": {"refuted as printed": (1, 0), "undecided": (1, 0)},
    }


def claimed(curves, published, **printed):
    """A comparison with the one claim of at most 3 that is printed."""
    claims = {"claim": {"label": "a, b", "evidence": "order", "fixed": "first commit", "at_most": 3.0}}
    said = [("Toy", "", "", "claim", published)]
    comparison, measured = made(curves, metrics={"error": {"label": "e"}}, claims=claims, published=said)
    comparison["published"][0] |= printed
    return comparison, measured


def test_what_is_derived_from_printed_numbers_says_from_which():
    rows = rows_of(*claimed(seeds(2.0), "1.5", derived="3/2 of Table 1", item="2"))
    row = next(row for row in rows if row["metric"] == "claim")
    assert row["derived"] == "3/2 of Table 1" and row["reason"].startswith("counted elsewhere: 3/2 of Table 1")


# Sizes


@pytest.mark.parametrize(
    ("used", "why"),
    [
        ({}, None),
        ({"n_train": 522_911, "n_test": 12}, None),
        ({"n_train": 60_000}, "measured on Forest Covertype, 60,000 training"),
        ({"n_train": 600_000}, "published for Forest, 522,911 training"),
        ({"dataset": "covtype_demo", "title": "a subset"}, "measured on a subset"),
    ],
)
def test_a_part_of_a_dataset_or_another_one_does_not_pass_for_the_whole(used, why):
    used = {"dataset": "covtype_binary", "title": "Forest Covertype", "n_train": 530_000, "n_test": 10, **used}
    reason = verdicts.incomparable_data("Forest", {"dataset": "covtype_binary", "n_train": 522_911}, used)
    assert why in reason if why else reason is None
    assert "not among" in verdicts.incomparable_data("Other", None, used)


@pytest.mark.parametrize(("n_points", "verdict"), [(8, "not comparable"), (None, "reproduced")])
def test_runs_that_used_a_part_of_the_points_do_not_pass_for_runs_on_all_of_them(n_points, verdict):
    comparison, measured = claimed(seeds(2.0, 2.1), "small")
    comparison["spec"]["published_data"] = {"Toy": {"dataset": "toy", "n_train": 10}}
    for run in measured.values():
        run.record["effective"] = {"n_points": n_points}
    found = [row for row in rows_of(comparison, measured) if row["measured_mean"]]
    assert [row["verdict"] for row in found if row["published"]] == [verdict]
    assert {row["n_train"] for row in found} == {str(n_points or 10)}


# Files


def test_a_row_keeps_every_digit_of_its_values_in_a_file():
    values = (1 / 3, 1e-300, 12345678.123456789, math.inf)
    about = {"target": "t", "dataset": "", "method": "", "metric": "", "scale": "demo", "verdict": Verdict.MEASURED}
    row = Row(**about, values=values, left_out=("Toy, l", "Toy, m"), is_bound=True, passed=0)
    assert Row.from_text(row.as_text()) == row
