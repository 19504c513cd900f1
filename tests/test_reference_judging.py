"""Reference results judged anew from means and deviations: the same verdicts, others where a criterion moved."""

from __future__ import annotations

import copy
import statistics

import pytest

from shallows.experiments.comparing import uncertainty, verdicts
from shallows.experiments.planning.plan import Plan
from shallows.reference import folder, judging

REFERENCE = "results/reference"


@pytest.fixture(scope="module")
def plan():
    return Plan.load(".")


def held(target, scale="laptop"):
    place = f"{REFERENCE}/{scale}"
    return folder.read_target(place, target, folder.read_index(place))


@pytest.mark.parametrize("scale", ["demo", "laptop"])
def test_the_reference_is_judged_and_described_by_the_present_configuration(scale, plan):
    # Where this fails, `python -m shallows.reference judge --scale ...` brings the reference up to the configuration.
    index = folder.read_index(f"{REFERENCE}/{scale}")
    for target in index["targets"]:
        files, comparison = held(target, scale), plan.comparison(target, scale)
        rows = judging.judged_anew(comparison, files)
        assert rows == files.rows, target
        assert judging.described_anew(comparison, files, rows) == files.record["meta"], target


def test_most_verdicts_are_judged_anew_rather_than_kept(plan):
    # The test above would pass with a function that gives every row back.
    files = held("eigenpro_table6")
    blank = [{**row, "tolerance": "", "margin": ""} for row in files.rows]
    for row in blank:
        row["verdict"] = verdicts.DEVIATES if row["verdict"] in judging.DECIDED else row["verdict"]
    again = judging.judged_anew(plan.comparison("eigenpro_table6", "laptop"), folder.TargetFiles(blank, files.record))
    assert again == files.rows
    assert any(row["verdict"] == verdicts.REPRODUCED for row in again)


def changed(plan, target, metric, **criterion):
    """The row of a claim with another criterion, and as it was."""
    files, comparison = held(target), copy.deepcopy(plan.comparison(target, "laptop"))
    claim = comparison["spec"]["claims"][metric]
    for name in ("at_most", "at_least", "between", "paired"):
        claim.pop(name, None)
    claim |= criterion
    pairs = zip(files.rows, judging.judged_anew(comparison, files), strict=True)
    return next((old, new) for old, new in pairs if old["metric"] == metric)


def test_a_criterion_that_moved_moves_the_verdict_its_words_and_no_number(plan):
    old, new = changed(plan, "cdsg_thm3_dsg_rate", "slope", at_most=-5.0)
    assert (old["verdict"], new["verdict"]) == (verdicts.REPRODUCED, verdicts.DEVIATES)
    assert "at most -5" in new["tolerance"]
    assert "at most -5" in new["reason"]
    names = ("measured_mean", "measured_sd", "seeds", "records", "published")
    assert [new[name] for name in names] == [old[name] for name in names]


def test_a_criterion_for_the_whole_interval_takes_it_from_the_deviation(plan):
    old, new = changed(plan, "cdsg_thm3_dsg_rate", "slope", between=(-1.2, -0.8), paired=True)
    n = len(old["seeds"].split())
    low, high = uncertainty.interval(judging.values_of(float(old["measured_mean"]), float(old["measured_sd"]), n))
    assert (float(new["low"]), float(new["high"])) == (pytest.approx(low, rel=1e-5), pytest.approx(high, rel=1e-5))
    assert new["verdict"] == verdicts.of_interval({"between": (-1.2, -0.8)}, low, high)


@pytest.mark.parametrize(("limit", "verdict"), [(120, verdicts.DEVIATES), (1000, verdicts.NOT_RUN)])
def test_a_level_that_no_run_passed_is_judged_by_how_far_the_runs_went(plan, limit, verdict):
    files, comparison = held("cdsg_fig1_medium"), copy.deepcopy(plan.comparison("cdsg_fig1_medium", "laptop"))
    comparison["spec"]["claims"]["svrg_stops"]["at_most"] = limit
    new = next(row for row in judging.judged_anew(comparison, files) if row["metric"] == "svrg_stops")
    assert (new["dataset"], new["verdict"], new["measured_mean"]) == ("cifar10", verdict, "")
    assert "not reached in 3 of 3 runs" in new["reason"]


@pytest.mark.parametrize(("limit", "verdict"), [(70, verdicts.DEVIATES), (200, verdicts.NOT_RUN)])
def test_the_largest_of_those_that_were_reached_decides_only_where_a_larger_one_would_as_well(plan, limit, verdict):
    old, new = changed(plan, "eigenpro_acceleration_claim", "largest", between=[30, limit])
    assert (old["measured_mean"], new["verdict"]) == ("102.5", verdict)
    assert "not reached in 1 of 3 runs" in new["reason"]


def test_a_derivation_is_judged_no_more(plan):
    files, comparison = held("cdsg_thm3_dsg_rate"), copy.deepcopy(plan.comparison("cdsg_thm3_dsg_rate", "laptop"))
    comparison["spec"]["claims"]["slope"] |= {"evidence": verdicts.DERIVED, "why": "for the test"}
    rows = judging.judged_anew(comparison, files)
    row = next(row for row in rows if row["metric"] == "slope")
    assert (row["verdict"], row["tolerance"]) == (verdicts.DERIVATION, "")
    assert row["reason"].endswith("for the test")
    assert "slope" in judging.described_anew(comparison, files, rows)["kinds"]


@pytest.mark.parametrize("n", [2, 3, 10])
def test_values_stand_for_their_mean_and_deviation(n):
    values = judging.values_of(4.5, 0.7, n)
    assert (len(values), statistics.fmean(values)) == (n, pytest.approx(4.5))
    assert statistics.stdev(values) == pytest.approx(0.7)


def test_judge_writes_what_changed_and_says_it(plan, tmp_path):
    index = folder.read_index(f"{REFERENCE}/laptop")
    target, files = "cdsg_thm3_dsg_rate", held("cdsg_thm3_dsg_rate")
    rows = [{**row, "verdict": verdicts.DEVIATES} if row["metric"] == "slope" else row for row in files.rows]
    entry = index["targets"][target] | folder.write_target(tmp_path, target, rows, files.record)
    folder.write_index(tmp_path, {**index, "targets": {target: entry}})
    (line,) = judging.judge(plan, "laptop", tmp_path)
    assert line.endswith("slope): deviates before, reproduced now")
    assert folder.read_target(tmp_path, target, folder.read_index(tmp_path)).rows == files.rows
    assert [*judging.judge(plan, "laptop", tmp_path)] == []
