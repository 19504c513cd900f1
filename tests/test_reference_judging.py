"""Reference results judged again from their columns: the same verdicts, others where a criterion moved."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace

import pytest

from claims_example import RACE, REACHED, made
from shallows.errors import UnknownNameError
from shallows_papers.experiments.comparing import target_table, verdicts
from shallows_papers.experiments.comparing.table_rows import Row, counts_by_kind
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.runs import PlannedRun
from shallows_papers.reference import collection, folder, judging

REFERENCE = "results/reference"
NONSENSE = "at least this: without not reached within 3 of 4 runs; no value, not reached in 1 of 2 runs"


@pytest.fixture(scope="module")
def plan():
    return Plan.load(".", deployed=True)


def held(target, scale="laptop"):
    place = f"{REFERENCE}/{scale}"
    return folder.read_target(place, target, folder.read_index(place))


def texts(rows):
    return [row.as_text() for row in rows]


def test_a_target_that_the_reference_does_not_hold_is_told(plan):
    with pytest.raises(UnknownNameError, match="no target in the reference of the scale demo, 'dsg_fig1_cifar10'"):
        [*judging.judge(plan, "demo", f"{REFERENCE}/demo", ["dsg_fig1_cifar10"])]


def requested(plan, scale, run):
    """The identifier that a run of the reference has in the present plan, with what it had without naming it."""
    unnamed = collection.written_out(plan.configuration.root).get(run["method"], {})
    of_plan = plan.runs(scale)
    for names in itertools.chain.from_iterable(itertools.combinations(unnamed, n) for n in range(len(unnamed) + 1)):
        parameters = {**{name: unnamed[name] for name in names}, **run["parameters"]}
        about = run["dataset"], run["variant"], run["method"], parameters, run["seed"]
        found = PlannedRun(scale, *about, unit=run.get("unit", "")).id
        if found in of_plan:
            return found
    return None


@pytest.mark.parametrize("scale", ["demo", "laptop"])
def test_every_run_of_the_reference_is_requested_by_the_present_configuration_for_the_rows_that_show_it(scale, plan):
    index = folder.read_index(f"{REFERENCE}/{scale}")
    for target in index["targets"]:
        files, series = held(target, scale), plan.comparison(target, scale)["series"]
        now = {run["run"]["id"]: requested(plan, scale, run["run"]) for run in files.record["runs"]}
        of_target = {one for each in series for one in each["run_ids"]}
        for row in (row for row in files.rows if row.records):
            of_method = [one for one in series if one["method"] == row.method and one["data"] in row.printed_data]
            wanted = {one for each in of_method for one in each["run_ids"]} if row.method else of_target
            found = {now[one] for one in row.records}
            assert found <= wanted, (target, row.method, row.setting, row.metric)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["demo", "laptop"])
def test_the_reference_is_judged_and_described_by_the_present_configuration_and_no_reason_is_read(scale, plan):
    # If this fails, `python -m shallows_papers.reference judge --scale ...` brings the reference up to date.
    index = folder.read_index(f"{REFERENCE}/{scale}")
    n_kept = 0
    for target in index["targets"]:
        files, comparison = held(target, scale), plan.comparison(target, scale)
        garbled = folder.TargetFiles([replace(row, reason=NONSENSE) for row in files.rows], files.record)
        rows = judging.judged_again(comparison, garbled, collection.written_out("."))
        for before, after in zip(files.rows, rows, strict=True):
            is_kept = after.reason == NONSENSE
            n_kept += is_kept and before.published != "" and before.measured_mean is not None
            assert after.as_text() == before.as_text() | ({"reason": NONSENSE} if is_kept else {}), target
        assert counts_by_kind(rows) == counts_by_kind(files.rows)
        assert judging.described_again(comparison, files) == files.record["meta"], target
        assert collection.of_the_machine(plan, target) == files.record["of_the_machine"], target
    assert n_kept == sum(row.as_collected for target in index["targets"] for row in held(target, scale).rows)


# What the runs would give --------------------------------------------------------------------------------------------

LATE = {1: 9.0, 2: 9.0, 3: 9.0, 4: 9.0, 8: 3.2}
NEVER = dict.fromkeys(range(1, 13), 9.0)
OVER = {"of": {"method": "slow"}, "over": {"method": "fast"}}


def race(*slow, **others):
    """Slow runs beside as many fast ones, which reach the level after two epochs."""
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
    "censored": (seeds(float("inf"), float("inf")), {"censored": "it was stopped"}),
    "a value is missing": ({**seeds(1.0, 2.0), ("fast", "g", 2): {"error": {}}}, {}),
    "a level": (race(LATE, LATE), OVER),
    "a bound": (race(LATE, NEVER), OVER),
    "no bound": (race(LATE, {12: 9.0}), OVER),
    "a level that one passed": (race(LATE, NEVER), {"of": {"method": "slow"}}),
    "smallest, a bound": (race(LATE, l=NEVER), {**OVER, "across": "smallest", "by": []}),
    "smallest, measured": (race(LATE, NEVER, l=LATE), {**OVER, "across": "smallest", "by": []}),
    "smallest, unknown": (race(LATE, l={12: 9.0}), {**OVER, "across": "smallest", "by": []}),
    "largest": (race(LATE, l={12: 9.0}), {**OVER, "across": "largest", "by": []}),
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
    runs = [{"data": 0, "made_by": 0, "run": one.record["run"], "metrics": {}} for one in measured.values()]
    record = {"data": [{"n_test": 10_000}], "made_by": [{}], "runs": runs}
    return folder.TargetFiles([Row.from_text(row.as_text()) for row in rows], record)


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
    for before, after in itertools.permutations(CRITERIA, 2):
        files, (comparison, wanted) = collected(case, before)[1], collected(case, after)
        spoilt = folder.TargetFiles([replace(row, reason=NONSENSE) for row in files.rows], files.record)
        assert len(wanted.rows) == 1
        if wanted.rows[0].values:
            assert texts(judging.judged_again(comparison, spoilt)) == texts(wanted.rows), (before, after)
        else:  # there is nothing to judge
            assert (files.rows[0].verdict, wanted.rows[0].verdict) == (Verdict.NOT_RUN, Verdict.NOT_RUN)


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("case", ["values", "one value", "a bound", "a level"])
def test_mean_and_deviation_judge_as_the_values_do_and_what_needs_these_stays_as_collected(case, criterion):
    comparison, files = collected(case, criterion)
    (row,) = files.rows
    bare = replace(row, values=(), reason=NONSENSE)
    (again,) = judging.judged_again(comparison, folder.TargetFiles([bare], files.record))
    if row.repetitions > 1 and (row.is_bound or "every_seed" in criterion):
        assert again == replace(bare, as_collected=True)
    else:
        assert again.as_text() == row.as_text() | {"values": ""}


def test_a_cell_is_judged_again_by_its_own_series():
    curves = {("fast", kernel, 0): {"error": {None: 2.0}} for kernel in "gl"}
    metrics = {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1.0}}}
    said = [("Toy", "fast", f"kernel={kernel}", "error", "2.5") for kernel in "gl"]
    comparison, measured = made(curves, metrics=metrics, published=said)
    comparison["series"][0]["altered"] = {"rank": (160, 40)}
    files = held_of(comparison, measured, "error")
    assert [row.verdict for row in files.rows] == [Verdict.NOT_COMPARABLE, Verdict.ONE_SEED]
    spoilt = [replace(row, reason=NONSENSE, verdict=Verdict.DEVIATES) for row in files.rows]
    assert texts(judging.judged_again(comparison, folder.TargetFiles(spoilt, files.record))) == texts(files.rows)


def test_a_row_whose_series_or_printed_item_is_planned_no_more_stays_as_collected():
    comparison, files = collected("values", {"at_most": 0.5})
    wanted = [replace(row, as_collected=True) for row in files.rows]
    for gone in ("series", "published"):
        assert texts(judging.judged_again({**comparison, gone: []}, files)) == texts(wanted)


def test_what_was_not_run_has_the_printed_text_and_the_place_of_the_present_files():
    curves = {("fast", kernel, 0): {"error": {None: 2.0}} for kernel in "gl"}
    metrics = {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1.0}}}
    said = [("Toy", "fast", f"kernel={kernel}", "error", "0.00022") for kernel in "gml"]
    comparison, measured = made(curves, metrics=metrics, published=said)
    files = held_of(comparison, measured, "error")
    renamed = {**comparison, "published": [{**one, "published": "2.2e-4"} for one in comparison["published"]]}
    renamed["published"].append({**renamed["published"][0], "setting": "kernel=n"})
    rows = judging.judged_again(renamed, files)
    assert [(row.setting[-1], row.published, row.verdict.value) for row in rows] == [
        ("g", "2.2e-4", "deviates"),
        ("m", "2.2e-4", "not run"),
        ("l", "2.2e-4", "deviates"),
        ("n", "2.2e-4", "not run"),
    ]
    assert texts(judging.judged_again(renamed, folder.TargetFiles(rows, files.record))) == texts(rows)


@pytest.mark.parametrize("has_ours", [True, False])
def test_a_value_of_other_parameters_passes_for_the_method_no_more_and_is_ours_where_ours_has_them(has_ours):
    curves = {("fast", "g", 0): {"error": {1: 2.0}}, ("slow", "g", 0): {"error": {1: 8.0}}}
    metrics = {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1.0}}}
    claims = {"beside": {"label": "x", "evidence": "order", "of": {"method": "slow"}, "over": {"method": "fast"}}}
    claims["beside"] |= {"at_least": 2, "reason": "", "fixed": "first commit"}
    said = [("Toy", method, "kernel=g; epochs=1", "error", "2.5") for method in ("fast", "slow")]
    said.append(("Toy", "slow", "kernel=g", "beside", "words"))
    comparison, measured = made(curves, metrics=metrics, claims=claims, published=said)
    for run in measured.values():
        run.record["run"] |= {"method": "a", "parameters": {"rank": 160, "seed_of": run.record["run"]["id"][:4]}}
    files = folder.TargetFiles(
        [row for metric in ("error", "beside") for row in held_of(comparison, measured, metric).rows],
        held_of(comparison, measured, "error").record,
    )
    for one in comparison["series"]:
        one |= {"parameters": {"rank": 160, "seed_of": one["method"], "tol": 0.0}}
    # The configuration names a parameter that these runs had without naming it; with another value they are others.
    assert texts(judging.judged_again(comparison, files, {"a": {"tol": 0.0, "of_another": 1}})) == texts(files.rows)
    for unnamed in (None, {"a": {"tol": 1.0}}, {"b": {"tol": 0.0}}):
        assert not any(row.records for row in judging.judged_again(comparison, files, unnamed))
    fast, slow = comparison["series"]
    new = {**fast, "parameters": {**fast["parameters"], "step_size": 5.0}}
    ours = {**fast, "method": "fast (ours)"}
    methods = {"fast": {"sources": {}}, "slow": {"sources": {}}}
    if has_ours:
        methods["fast (ours)"] = {"ours": "fast"}
    changed = {**comparison, "series": [new, slow, *([ours] if has_ours else [])]}
    changed["spec"] = {**comparison["spec"], "methods": methods}
    again = judging.judged_again(changed, files, {"a": {"tol": 0.0}})
    # What the paper says stays in the table, without a run.
    beside = [(row.published, row.verdict) for row in again if row.metric == "beside"]
    assert beside == [*([("", Verdict.MEASURED)] if has_ours else []), ("words", Verdict.NOT_RUN)]
    rows = {(row.method, row.metric): row for row in again}
    assert (rows["fast", "error"].verdict, rows["fast", "error"].measured_mean) == (Verdict.NOT_RUN, None)
    assert rows["fast", "error"].reason == judging.PLANNED
    assert (rows["slow", "error"].verdict, rows["slow", "error"].measured_mean) == (Verdict.DEVIATES, 8.0)
    assert (("fast (ours)", "error") in rows) == has_ours
    if has_ours:
        row = rows["fast (ours)", "error"]
        assert (row.series, row.verdict, row.published, row.measured_mean) == ("ours", Verdict.MEASURED, "", 2.0)


def test_a_method_that_loses_one_series_keeps_the_rows_of_its_others():
    curves = {(method, kernel, 0): {"error": {1: 2.0}} for method in ("fast", "slow") for kernel in "gl"}
    claims = {"beside": {"label": "x", "evidence": "own", "of": {"method": "slow"}, "over": {"method": "fast"}}}
    claims["beside"] |= {"at_least": 0.5, "reason": "", "fixed": "first commit"}
    comparison, measured = made(curves, metrics={"error": {"label": "e", "evidence": "own"}}, claims=claims)
    for name, run in measured.items():
        run.record["run"]["parameters"] = {"rank": 160, "seed_of": name[:6]}
    for one in comparison["series"]:
        one |= {"parameters": {"rank": 160, "seed_of": f"{one['method']}-{one['setting']['kernel']}"}}
    files = folder.TargetFiles(
        [row for metric in ("error", "beside") for row in held_of(comparison, measured, metric).rows],
        held_of(comparison, measured, "error").record,
    )
    whole = judging.judged_again(comparison, files)
    assert texts(whole) == texts(files.rows) and len(whole) == 6
    lost = [one for one in comparison["series"] if (one["method"], one["setting"]["kernel"]) != ("fast", "l")]
    rows = judging.judged_again({**comparison, "series": lost}, files)
    gone = [("fast", "kernel=l; epochs=1", "error"), ("slow", "kernel=l", "beside")]
    kept = [row for row in whole if (row.method, row.setting, row.metric) not in gone]
    assert len(kept) == 4 and texts(row for row in rows if row.records) == texts(kept)


def test_a_derivation_is_judged_no_more():
    comparison, files = collected("values", {"at_most": 0.5})
    comparison["spec"]["claims"]["claim"] = {"label": "x", "evidence": verdicts.DERIVED, "why": "for the test"}
    (row,) = judging.judged_again(comparison, files)
    assert (row.verdict, row.tolerance, row.reason) == (Verdict.DERIVATION, "", "for the test")


# The reference in the repository -------------------------------------------------------------------------------------


def changed(plan, target, metric, **criterion):
    """The row of a claim with another criterion, and as it was."""
    files, comparison = held(target), copy.deepcopy(plan.comparison(target, "laptop"))
    claim = comparison["spec"]["claims"][metric]
    for name in ("at_most", "at_least", "between", "paired"):
        claim.pop(name, None)
    claim |= criterion
    pairs = zip(files.rows, judging.judged_again(comparison, files, collection.written_out(".")), strict=True)
    return next((old, new) for old, new in pairs if old.metric == metric)


def test_a_criterion_that_moved_moves_the_verdict_its_words_and_no_number(plan):
    old, new = changed(plan, "cdsg_thm3_dsg_rate", "slope", at_most=-5.0)
    assert (old.verdict, new.verdict) == (Verdict.REPRODUCED, Verdict.DEVIATES)
    assert "at most -5" in new.tolerance
    assert "at most -5" in new.reason
    moved = {"verdict", "tolerance", "reason", "cause"}
    assert {name for name, text in new.as_text().items() if text != old.as_text()[name]} == moved


@pytest.mark.parametrize(("limit", "verdict"), [(120, Verdict.DEVIATES), (1000, Verdict.NOT_RUN)])
def test_a_level_that_no_run_passed_is_judged_by_how_far_the_runs_went(plan, limit, verdict):
    _, new = changed(plan, "cdsg_fig1_medium", "svrg_stops", at_most=limit)
    assert (new.dataset, new.verdict, new.measured_mean, new.passed) == ("cifar10", verdict, None, 0)
    assert "not reached in 3 of 3 runs" in new.reason


def test_a_target_none_of_whose_values_is_left_is_listed_as_not_run(plan, tmp_path):
    index = folder.read_index(f"{REFERENCE}/laptop")
    target, files = "eigenpro_table6", held("eigenpro_table6")
    rows = [row for row in files.rows if not row.records]
    entry = index["targets"][target] | folder.write_target(tmp_path, target, rows, files.record)
    folder.write_index(tmp_path, {**index, "targets": {target: entry}})
    [*judging.judge(plan, "laptop", tmp_path)]
    made = folder.read_index(tmp_path)
    assert (made["targets"], made["not_run"][target]) == ({}, judging.PLANNED)
    assert [path.name for path in tmp_path.iterdir()] == [folder.INDEX]


def test_judge_writes_what_changed_and_says_it(plan, tmp_path):
    index = folder.read_index(f"{REFERENCE}/laptop")
    target, files = "cdsg_thm3_dsg_rate", held("cdsg_thm3_dsg_rate")
    rows = [replace(row, verdict=Verdict.DEVIATES) if row.metric == "slope" else row for row in files.rows]
    entry = index["targets"][target] | folder.write_target(tmp_path, target, rows, files.record)
    folder.write_index(tmp_path, {**index, "targets": {target: entry}})
    (line,) = judging.judge(plan, "laptop", tmp_path)
    assert line.endswith("slope): deviates before, reproduced now")
    assert texts(folder.read_target(tmp_path, target, folder.read_index(tmp_path)).rows) == texts(files.rows)
    assert [*judging.judge(plan, "laptop", tmp_path)] == []
