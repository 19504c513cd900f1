import csv
import json
import math
from pathlib import Path

import pytest

from own_plan import own_plan
from shallows_papers.experiments.comparing import cells, evaluations, target_table, uncertainty, verdicts
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.comparing.row_maker import dataset_name
from shallows_papers.experiments.comparing.table_rows import COLUMNS, Measured, Row, counts_by_kind, write_rows
from shallows_papers.papers.eigenpro import claims
from shallows_papers.report.wording import code_text

TOLERANCE = {"absolute": 0.2, "relative": 0.1}


@pytest.fixture(scope="module")
def plan():
    return own_plan()


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (1.3, "reproduced, one seed"),
        (0.7, "reproduced, one seed"),
        (1.31, "deviates"),
        (0.69, "deviates"),
        (math.nan, "deviates"),
        (-math.inf, "deviates"),
    ],
)
def test_one_repetition_is_reproduced_with_one_seed_and_beyond_the_tolerance_on_either_side_it_deviates(
    measured, verdict
):
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
    # A mean ± 0.0993 beside a margin of 0.2.
    found, reason = judged((centre - 0.04, centre, centre + 0.04), absolute=0.2)
    assert found == verdict and bool(reason) == (verdict == "undecided")


def test_drawn_indices_are_whole_and_hold_both_ends():
    chosen = cells.thinned(range(1, 401), 60)
    assert chosen[0] == 1 and chosen[-1] == 400 and chosen == sorted(set(chosen)) and len(chosen) <= 60
    assert cells.thinned([1], 60) == cells.thinned([1, 2, 3], 1) == [1]
    assert cells.thinned(range(1, 10), 2) == [1, 9]


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


def test_the_code_of_runs_is_told_by_each_of_its_commits():
    def used(*codes):
        return [{"code": {"version": "0", "commit": commit, "dirty": dirty}} for commit, dirty in codes]

    one, several = (
        target_table._code(used(("a" * 40, False))),
        target_table._code(used(("a" * 40, False), ("b" * 40, False))),
    )
    assert code_text(one) == "shallows 0, commit aaaaaaaaaa"
    assert code_text(several) == "shallows 0, commits aaaaaaaaaa, bbbbbbbbbb"
    changed = target_table._code(used(("a" * 40, False), ("a" * 40, True)))
    assert code_text(changed) == "shallows 0, commit aaaaaaaaaa, with uncommitted changes"
    assert code_text(target_table._code(used((None, None)))) == "shallows 0"


def made_table(tmp_path: Path, plan, target, scale, curve_of, halvings_of=lambda run: 0):
    comparison, table = plan.comparison(target, scale), tmp_path / "table.csv"
    results = {
        run.id: RunResult.of(
            run.folder,
            json.loads(json.dumps({**record(run, plan), "rollbacks": halvings_of(run)})),
            json.loads(json.dumps(curve_of(run))),
            comparison["spec"].get("mark", ""),
        )
        for run in plan.runs_of(target, scale)
    }
    write_rows(table, target_table.rows_of(comparison, results))
    with open(table, newline="") as stream:
        reader = csv.DictReader(stream)
        assert tuple(reader.fieldnames) == COLUMNS
        return list(reader), json.loads(json.dumps(target_table.describe(comparison, results)))


def test_every_run_is_read_with_its_curve_and_checked(monkeypatch):
    curve = [{"epoch": "1", "metric": "error", "value": "2.5", "seconds": "4"}, {"metric": "rank", "value": "7"}]

    def read(folder):
        return {"run": {"id": Path(folder).name, "seed": 0}}, curve

    checked = []
    monkeypatch.setattr(evaluations.records, "read", read)
    monkeypatch.setattr(evaluations.records, "check", lambda record, folder: checked.append(record["run"]["id"]))
    found = evaluations.read([f"runs/{name}/record.json" for name in "abc"], "epochs")
    assert checked == list(found) == ["a", "b", "c"]
    for name, run in found.items():
        assert (run.folder, run.along) == (f"runs/{name}", "epochs")
        assert run.curve == {"error": {1: 2.5}, "seconds": {1: 4.0}, "rank": {None: 7.0}}


def test_printed_items_without_a_row_are_named_below_the_table(plan):
    comparison = plan.comparison("eigenpro_table6", "laptop")
    (note,) = set(target_table.describe({**comparison, "no_row": ["a", "b"]}, {})["notes"]) - set(
        target_table.describe({**comparison, "no_row": []}, {})["notes"]
    )
    assert note == "Printed, and without a row here: a; b."


def counted(rows):
    return counts_by_kind(map(Row.from_text, rows))


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


def test_all_84_published_values_of_the_error_table_are_there(plan):
    rows = plan.configuration.published["eigenpro_table6"]
    assert len({(row["method"], row["setting"], row["metric"]) for row in rows}) == len(rows) == 84


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "reproduced"), (1.0, "deviates"), (-1.0, "deviates")])
def test_whole_data_at_the_laptop_scale_is_compared(tmp_path, plan, shift, verdict):
    rows, _meta = made_table(tmp_path, plan, "eigenpro_table6", "laptop", published_curve(plan, shift))
    ours = [row for row in rows if row["series"] == "ours"]
    assert len(ours) == 3 * 2 * (5 + 5) and {row["verdict"] for row in ours} == {"measured"}
    measured = [row for row in rows if row["series"] == "authors"]
    assert len(measured) == len(rows) - len(ours) == 84
    # Some runs of the table have one seed, others two.
    assert {row["verdict"] for row in measured} == ({verdict, f"{verdict}, one seed"} if not shift else {verdict})
    assert sum(count for count, _ in counted(rows)["number"].values()) == 84
    for row in measured:
        assert (row["low"] != "") == (row["repetitions"] != "1")
        assert shift or row["verdict"].endswith("seed") == (row["repetitions"] == "1")
    assert measured[0]["setting"] == "kernel=Gaussian; epochs=1"


def test_other_data_is_shown_and_not_judged(tmp_path, plan):
    rows, meta = made_table(tmp_path, plan, "eigenpro_table6", "demo", published_curve(plan, 0.0))
    assert {row["verdict"] for row in rows if row["series"] == "authors"} == {"not comparable", "not run"}
    shown = [row for row in rows if row["verdict"] == "not comparable"]
    assert all(row["measured_mean"] and row["published"] and "published for MNIST" in row["reason"] for row in shown)
    assert {row["seeds"] for row in shown} == {"0 1"}
    assert float(shown[0]["measured_sd"]) == 0.0
    assert meta["label"]["seeds"] == [0, 1]


def test_where_the_program_halved_the_printed_step_nothing_is_reproduced(tmp_path, plan):
    def halvings(run):
        return int(run.method == "eigenpro_2017" and run.parameters["kernel"] == "laplace" and run.seed == 1)

    rows, _ = made_table(tmp_path, plan, "eigenpro_table6", "laptop", published_curve(plan, 0.0), halvings)
    verdicts_of = {}
    for row in rows:
        if row["published"] and row["seeds"] == "0 1":
            verdicts_of.setdefault((row["method"], row["setting"].partition(";")[0]), set()).add(row["verdict"])
    assert verdicts_of.pop(("EigenPro", "kernel=Laplace")) == {"undecided"}
    assert verdicts_of and set.union(*verdicts_of.values()) == {"reproduced"}


def test_a_run_that_ended_before_a_mark_leaves_it_not_run(tmp_path, plan):
    curve = published_curve(plan, 0.0)
    rows, _ = made_table(
        tmp_path, plan, "eigenpro_table6", "laptop", lambda run: [row for row in curve(run) if row["epoch"] == "1"]
    )
    late = [row for row in rows if "epochs=5" in row["setting"]]
    assert {row["verdict"] for row in late} == {"not run"}
    assert all("ended before" in row["reason"] for row in late)


def spectrum(decay):
    """Eigenvalues 1/i^decay, and 20 % more of the second half for smaller subsamples."""

    def curve(run):
        count = run.parameters["n_eigenvalues"]
        return [{"index": str(i), "metric": "eigenvalue", "value": str(3.0 * i**-decay)} for i in range(1, count + 1)]

    return curve


@pytest.mark.parametrize(("decay", "verdict"), [(1.5, "reproduced, one seed"), (0.5, "deviates")])
def test_claims_are_judged_by_their_criterion_on_the_papers_data(tmp_path, plan, decay, verdict):
    rows, _ = made_table(tmp_path, plan, "eigenpro_fig3_eigenspectrum", "laptop", spectrum(decay))
    claims = {row["metric"]: row for row in rows if row["metric"] == "ratio_201" and row["dataset"] == "mnist"}
    row = claims["ratio_201"]
    assert row["verdict"] == verdict
    assert float(row["measured_mean"]) == pytest.approx(201**-decay, rel=1e-6)
    assert row["published"].startswith("sharp drop")
    spreads = [row for row in rows if row["metric"].startswith("spread")]
    assert {float(row["measured_mean"]) for row in spreads} == {0.0}
    assert {row["verdict"] for row in spreads} == {"reproduced, one seed"}


def test_data_that_cannot_be_had_is_told_and_never_replaced(tmp_path, plan):
    rows, _ = made_table(tmp_path, plan, "eigenpro_fig3_eigenspectrum", "demo", spectrum(1.0))
    for word in ("CIFAR-10", "SVHN", "TIMIT", "HINT-S"):
        own = [row for row in rows if row["dataset"] == word]
        assert own and {row["verdict"] for row in own} == {"not run"}
        assert all(row["reason"] and not row["measured_mean"] for row in own)
    beside = [row for row in rows if row["dataset"] == "a9a_demo" and row["metric"] == "ratio_201"]
    assert [row["verdict"] for row in beside] == ["not comparable"]


def test_drawn_points_are_ratios_to_the_first(tmp_path, plan):
    rows, _meta = made_table(tmp_path, plan, "eigenpro_fig3_eigenspectrum", "demo", spectrum(1.0))
    drawn = [row for row in rows if "index=" in row["setting"] and row["dataset"] == "covtype_demo"]
    assert 40 <= len(drawn) <= 60
    for row in drawn:
        index = int(row["setting"].rpartition("=")[2])
        assert float(row["measured_mean"]) == pytest.approx(1 / index, rel=1e-6)
    assert counted(rows) == {"order": {"not comparable": (2, 0)}}  # a drop, and an agreement


def test_the_spread_is_that_of_the_two_curves_furthest_apart():
    assert claims.largest_log_gap([{1: 1.0, 2: 0.5}, {1: 1.0, 2: 0.05}, {1: 1.0, 2: 0.1}]) == pytest.approx(1.0)
    assert claims.largest_log_gap([{1: 1.0}, {1: 0.0}]) == math.inf


def test_a_dataset_that_stands_for_two_of_a_papers_is_told_apart_by_the_papers_words():
    sizes = {"A": {"dataset": "one"}, "B": {"dataset": "one"}, "C": {"dataset": "two"}}
    names = [dataset_name(sizes, word) for word in ("A", "B", "C", "D")]
    assert names == ["one (A)", "one (B)", "two", "D"]
