"""Tables of targets of the configuration, made of invented runs."""

import math

import pytest

from claims_example import rows_of
from shallows_papers.experiments.comparing import target_table, uncertainty, verdicts
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.comparing.row_maker import dataset_name
from shallows_papers.experiments.comparing.table_rows import Measured, Row, counts_by_kind
from shallows_papers.report.wording import code_text

TOLERANCE = {"absolute": 0.2, "relative": 0.1}


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(1.3, "reproduced, one seed"), (0.7, "reproduced, one seed"), (1.31, "deviates"), (0.69, "deviates")]
    + [(broken, "deviates") for broken in (math.nan, -math.inf)],
)
def test_one_repetition_is_reproduced_with_one_seed_and_beyond_the_tolerance_it_deviates(measured, verdict):
    assert verdicts.judge(1.0, measured, uncertainty.margin("1.0", TOLERANCE))[0] == verdict


def judged(values, **tolerance):
    measured = Measured(values)
    margin = uncertainty.margin("1.0", tolerance, measured)
    scattered = uncertainty.scatters("1.0", margin, tolerance)
    return verdicts.judge(1.0, measured.mean, margin, scattered, uncertainty.interval(measured))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1.0, 1.02), "undecided"),  # a mean ± 0.127 in a margin of 0.085
        ((1.0, 1.01, 1.02), "reproduced"),
        ((0.957, 1.043, 0.957, 1.043), "reproduced"),  # more than twice the 0.05, and no quarter more
        ((0.9, 1.2, 0.9, 1.2), "undecided"),  # a margin of 0.44
        ((0.2, 2.2), "undecided"),
        ((4.9, 5.0, 5.1), "deviates"),
        ((1.0, math.nan), "deviates"),
        ((math.inf, math.inf), "deviates"),
    ],
)
def test_a_number_whose_repetitions_scatter_widely_is_not_reproduced(values, verdict):
    assert judged(values, half_digit=True, standard_errors=2)[0] == verdict


@pytest.mark.parametrize(
    ("centre", "verdict"),
    [(1.0, "reproduced"), (0.9, "reproduced"), (1.15, "undecided"), (0.75, "undecided"), (1.3, "deviates")],
)
def test_several_repetitions_are_judged_by_their_whole_interval(centre, verdict):
    # A mean ± 0.0993 next to a margin of 0.2.
    found, reason = judged((centre - 0.04, centre, centre + 0.04), absolute=0.2)
    assert found == verdict and bool(reason) == (verdict == "undecided")


def record(run, plan):
    size = plan.size(run.dataset, run.variant)
    return {
        "run": {"id": run.id, "dataset": run.dataset, "variant": run.variant, "seed": run.seed, "scale": run.scale},
        "effective": {"device": "cpu"},
        "data": {"title": run.dataset, "n_train": size.n_train, "n_test": size.n_test, "n_features": size.n_features},
        "hardware": {"cpu": "a processor", "cores": 2, "memory_bytes": 2**34, "gpu": None},
        "code": {"version": "0", "commit": None, "dirty": None},
        "packages": {"numpy": "2"},
    }


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ([("a" * 40, False)], "shallows 0, commit aaaaaaaaaa"),
        ([("a" * 40, False), ("b" * 40, False)], "shallows 0, commits aaaaaaaaaa, bbbbbbbbbb"),
        ([("a" * 40, False), ("a" * 40, True)], "shallows 0, commit aaaaaaaaaa, with uncommitted changes"),
        ([(None, None)], "shallows 0"),
    ],
)
def test_the_code_of_runs_is_told_by_each_of_its_commits(codes, text):
    used = [{"code": {"version": "0", "commit": commit, "dirty": dirty}} for commit, dirty in codes]
    assert code_text(target_table._code(used)) == text


def made_table(plan, target, scale, curve_of):
    comparison = plan.comparison(target, scale)
    results = {
        run.id: RunResult.of(run.folder, record(run, plan), curve_of(run), comparison["spec"].get("mark", ""))
        for run in plan.runs_of(target, scale)
    }
    return rows_of(comparison, results), target_table.describe(comparison, results)


def test_printed_items_without_a_row_are_named_below_the_table(plan):
    comparison = plan.comparison("eigenpro_table6", "laptop")
    with_two, without = (
        target_table.describe({**comparison, "no_row": names}, {})["notes"] for names in (["a", "b"], [])
    )
    assert {*with_two} - {*without} == {"Printed, and without a row here: a; b."}


def published_curve(plan, shift):
    """A curve that hits the published values, plus a shift."""
    rows = {}
    for row in plan.configuration.published["eigenpro_table6"]:
        rows.setdefault((row["method"], row["setting"]), {})[row["metric"]] = float(row["published"])

    def curve(run):
        method = {"kernel_sgd": "Pegasos"}.get(run.method, "EigenPro")
        kernel = run.parameters["kernel"].capitalize()
        return [
            {"epoch": str(mark), "iteration": "1", "seconds": "1", "metric": metric, "value": str(value + shift)}
            for mark in run.marks
            for metric, value in rows.get((method, f"kernel={kernel}; epochs={mark}"), {}).items()
        ]

    return curve


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "reproduced"), (1.0, "deviates"), (-1.0, "deviates")])
def test_whole_data_at_the_laptop_scale_is_compared(plan, shift, verdict):
    rows, _meta = made_table(plan, "eigenpro_table6", "laptop", published_curve(plan, shift))
    ours = [row for row in rows if row["series"] == "ours"]
    assert len(ours) == 3 * 2 * (5 + 5) and {row["verdict"] for row in ours} == {"measured"}
    measured = [row for row in rows if row["series"] == "authors"]
    assert len(measured) == len(rows) - len(ours) == 84
    one_seed = [row for row in measured if row["repetitions"] == "1"]  # kernel SGD after 80 and 160 epochs
    assert len(one_seed) == 3 * 2 * 2 and all("Pegasos" in row["method"] for row in one_seed)
    assert {row["verdict"] for row in measured if row not in one_seed} == {verdict}
    assert {row["verdict"] for row in one_seed} == {verdict if shift else "reproduced, one seed"}
    counts = counts_by_kind(map(Row.from_text, rows))
    assert sum(count for kind in ("number", "calibrated") for count, _ in counts[kind].values()) == 84
    assert all(row["low"] and row["repetitions"] in "23" for row in measured if row not in one_seed)
    assert measured[0]["setting"] == "kernel=Gaussian; epochs=1"


def test_other_data_is_shown_and_not_judged(plan):
    rows, meta = made_table(plan, "eigenpro_table6", "demo", published_curve(plan, 0.0))
    assert {row["verdict"] for row in rows if row["series"] == "authors"} == {"not comparable", "not run"}
    shown = [row for row in rows if row["verdict"] == "not comparable"]
    assert all(row["measured_mean"] and row["published"] and "published for MNIST" in row["reason"] for row in shown)
    assert {row["seeds"] for row in shown} == {"0 1"}
    assert float(shown[0]["measured_sd"]) == 0.0
    assert meta["label"]["seeds"] == [0, 1]


def spectrum(decay):
    """Eigenvalues 1/i^decay."""

    def curve(run):
        count = run.parameters["n_eigenvalues"]
        return [{"index": str(i), "metric": "eigenvalue", "value": str(3.0 * i**-decay)} for i in range(1, count + 1)]

    return curve


def test_drawn_points_are_ratios_to_the_first_and_data_that_are_missing_are_not_replaced(plan):
    rows, _meta = made_table(plan, "eigenpro_fig3_eigenspectrum", "demo", spectrum(1.0))
    drawn = [row for row in rows if "index=" in row["setting"] and row["dataset"] == "covtype_demo"]
    assert 40 <= len(drawn) <= 60
    for row in drawn:
        index = int(row["setting"].rpartition("=")[2])
        assert float(row["measured_mean"]) == pytest.approx(1 / index, rel=1e-6)
    for word in ("CIFAR-10", "SVHN", "TIMIT", "HINT-S"):
        own = [row for row in rows if row["dataset"] == word]
        assert own and {row["verdict"] for row in own} == {"not run"}
        assert all(row["reason"] and not row["measured_mean"] for row in own)


def test_a_dataset_that_stands_for_two_of_a_papers_is_told_apart_by_the_papers_words():
    sizes = {"A": {"dataset": "one"}, "B": {"dataset": "one"}, "C": {"dataset": "two"}}
    names = [dataset_name(sizes, word) for word in ("A", "B", "C", "D")]
    assert names == ["one (A)", "one (B)", "two", "D"]
