"""Reference results: what agrees, what drifts, what is refused, and what a compact record keeps."""

import copy
import json
import platform
import subprocess
from dataclasses import replace

import pytest

import report_example
from own_plan import own_plan
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing.table_rows import COLUMNS, Row
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.runs import PlannedRun
from shallows_papers.experiments.running import record as records
from shallows_papers.reference import agreement, collection, compaction, earlier, folder, renaming
from shallows_papers.report import target as targets
from workflow_runs import PROJECT


def row(mean, **given):
    """A row of a table with an error that is counted on 1,000 test points and measured with two seeds."""
    found = {
        **{"target": "invented", "dataset": "digits", "n_train": "4000", "n_test": "1000", "method": "EigenPro"},
        **{"setting": "epochs=5", "metric": "test_error", "measured_mean": mean, "measured_sd": "0.1", "unit": "%"},
        **{"evidence": "number", "records": "0123456789;abcdef0123", "repetitions": "2", "verdict": "reproduced"},
    }
    return Row.from_text({**dict.fromkeys(COLUMNS, ""), **found, **given})


def states(reference, here, **said):
    return [one.state for one in agreement.compare(reference, here, **said)]


def test_a_number_within_its_interval_agrees_and_an_altered_one_is_told():
    reference = [row("4.0")]
    (near,) = agreement.compare(reference, [row("4.4")])
    (far,) = agreement.compare(reference, [row("9.0")])
    assert near.state == agreement.AGREES
    assert far.state == agreement.DRIFTED
    for part in ("digits", "EigenPro", "epochs=5", "test_error", "9 here", "4 in the reference", "1,000 test points"):
        assert part in str(far)


def test_the_margin_is_two_standard_errors_and_a_share():
    # Two deviations of 0.1 over two seeds each, 4 % counted on 1,000 points, 1 % of 4.
    counted = 100 * (0.04 * 0.96 / 1000) ** 0.5
    wanted = 2 * (0.1**2 / 2 + 0.1**2 / 2 + counted**2) ** 0.5 + 0.04
    assert agreement.margin_between(row("4.0"), row("4.1"), 4.0)[0] == pytest.approx(wanted, rel=1e-12)
    assert "1,000 test points" in agreement.margin_between(row("0.0"), row("0.1"), 4.0)[1]


def test_a_claim_that_compares_methods_has_fewer_repetitions_than_runs():
    records = {"records": "a;b;c;d", "unit": "", "evidence": "order"}
    wanted = 2 * (0.1**2 / 2 + 0.1**2 / 2) ** 0.5 + 0.04
    assert agreement.margin_between(row("4.0", **records), row("4.1", **records), 4.0)[0] == pytest.approx(wanted)


def test_one_seed_of_what_is_not_counted_may_differ_by_its_share_alone():
    given = {"unit": "", "measured_sd": "", "repetitions": "1"}
    share = agreement.RELATIVE_ALONE
    assert states([row("2", **given)], [row(f"{2 + 1.9 * share}", **given)]) == [agreement.AGREES]
    assert states([row("2", **given)], [row(f"{2 + 2.1 * share}", **given)]) == [agreement.DRIFTED]


def test_a_fact_is_to_be_the_same():
    assert states([row("4000", evidence="fact")], [row("4001", evidence="fact")]) == [agreement.DRIFTED]
    assert states([row("4000", evidence="fact")], [row("4000", evidence="fact")]) == [agreement.AGREES]
    assert agreement.margin_between(row("1", evidence="fact"), row("1"), 5000.0)[0] == pytest.approx(0.005)


def test_numbers_on_data_of_another_size_do_not_agree():
    (found,) = agreement.compare([row("4.0")], [row("4.0", n_test="500")])
    assert found.state == agreement.DRIFTED
    assert "4000+500 points here" in str(found)


def test_a_missing_row_and_a_missing_number_are_told():
    reference = [row("4.0"), row("5.0", setting="epochs=10")]
    here = [row("", reason="training ended before 5 epochs")]
    first, second = agreement.compare(reference, here)
    assert (first.state, second.state) == (agreement.MISSING, agreement.MISSING)
    assert "training ended before 5 epochs" in str(first)
    assert "no such row" in str(second)


def test_times_and_what_was_reached_in_a_time_are_left_out():
    reference, here = [row("4.0"), row("7.0", metric="seconds")], [row("90.0"), row("700", metric="seconds")]
    assert states(reference, here, of_the_machine=["seconds"]) == [agreement.DRIFTED, agreement.LEFT_OUT]
    assert states(reference, here, timed_runs=["abcdef0123"]) == [agreement.LEFT_OUT] * 2


def test_what_is_not_finite_agrees_with_its_like_alone():
    for text in ("nan", "inf", "-inf"):
        assert states([row(text)], [row(text)]) == [agreement.AGREES]
        assert states([row("4.0")], [row(text)]) == [agreement.DRIFTED]
        assert states([row(text)], [row("4.0")]) == [agreement.DRIFTED]
    assert states([row("inf")], [row("-inf")]) == [agreement.DRIFTED]


def test_differences_below_a_millionth_of_the_largest_value_are_rounding():
    given = {"unit": "", "measured_sd": "", "repetitions": "1", "metric": "residual"}
    reference = [row("1.0", **given), row("1e-9", setting="epochs=9", **given)]
    assert states(reference, [row("1.0", **given), row("5e-7", setting="epochs=9", **given)])[1] == agreement.AGREES
    assert states(reference, [row("1.0", **given), row("5e-6", setting="epochs=9", **given)])[1] == agreement.DRIFTED


# The folder ----------------------------------------------------------------------------------------------------------

RECORD = {"target": "invented", "of_the_machine": [], "timed_runs": [], "data": [], "made_by": [], "runs": []}
FACTS = {"rows": 1, "runs": 0, "commits": [None], "machines": [], "thinned": 1, "with_changes_beside": False}


@pytest.fixture
def reference(tmp_path):
    """A reference of one invented target with one number."""
    sums = folder.write_target(tmp_path / "ref", "invented", [row("4.0")], RECORD)
    index = {"scale": "demo", "targets": {"invented": {**sums, **FACTS}}, "not_run": {"other": "not collected"}}
    folder.write_index(tmp_path / "ref", index)
    return tmp_path / "ref"


def own(results, *rows):
    folder.write_target(results / "tables", "invented", rows, {})
    return results


def test_what_is_written_is_read_again(reference):
    files = folder.read_target(reference, "invented", folder.read_index(reference))
    assert files.rows == [row("4.0")]
    assert files.record == RECORD


@pytest.mark.parametrize("name", ["invented.csv", "invented.json"])
def test_a_torn_file_is_refused_by_name(reference, name, tmp_path):
    content = (reference / name).read_bytes()
    (reference / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(folder.TornReferenceError, match=rf"{name} is not whole.*git checkout"):
        agreement.verify(own(tmp_path, row("4.0")), reference)
    (reference / name).unlink()
    with pytest.raises(folder.TornReferenceError, match=f"{name} is listed"):
        agreement.verify(own(tmp_path, row("4.0")), reference)


def test_one_altered_digit_of_a_reference_is_refused(reference):
    table = reference / "invented.csv"
    table.write_text(table.read_text().replace(",4,0.1", ",5,0.1"))
    with pytest.raises(folder.TornReferenceError, match="checksum"):
        folder.read_target(reference, "invented", folder.read_index(reference))


def test_a_torn_index_and_one_of_another_form_are_refused(reference):
    path = reference / folder.INDEX
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    with pytest.raises(folder.TornReferenceError, match=r"index\.json is not whole"):
        folder.read_index(reference)
    path.write_text(text.replace('"format": 2', '"format": 99'))
    with pytest.raises(folder.TornReferenceError, match="the form 99"):
        folder.read_index(reference)
    path.unlink()
    with pytest.raises(folder.TornReferenceError, match="make reference"):
        folder.read_index(reference)


def test_files_that_the_index_does_not_list_are_removed(reference):
    (reference / "gone.csv").write_text("left by a target that was renamed")
    folder.write_index(reference, folder.read_index(reference))
    assert {path.name for path in reference.iterdir()} == {"index.json", "invented.csv", "invented.json"}


def test_a_verification_says_what_drifted_and_what_was_not_run(reference, tmp_path):
    index = folder.read_index(reference)
    good = agreement.verify(own(tmp_path / "good", row("4.0")), reference)
    assert good.holds
    bad = agreement.verify(own(tmp_path / "bad", row("9.0", verdict="deviates")), reference)
    assert not bad.holds
    told = "\n".join(agreement.report(bad, index))
    assert "drifted: digits · EigenPro · epochs=5 · test_error: 9 here" in told and "verdict:" not in told
    none = agreement.verify(tmp_path / "none", reference)
    assert not none.holds  # nothing was compared
    said = "\n".join(agreement.report(none, index))
    assert said.count("Nothing could be compared: of 1 targets") == 1
    assert "Nothing could be compared" not in told
    assert "Not run here: invented" in said
    assert "Not in the reference: other" in said
    with pytest.raises(UnknownNameError, match="invented"):
        agreement.verify(tmp_path, reference, ["invnted"])


def test_a_verdict_that_differs_is_told_beside_numbers_that_agree(reference, tmp_path):
    found = agreement.verify(own(tmp_path, row("4.1", verdict="deviates")), reference)
    assert found.holds
    assert "deviates here, reproduced there" in "\n".join(agreement.report(found, folder.read_index(reference)))


def test_every_number_is_written_with_its_margin(reference, tmp_path):
    found = agreement.verify(own(tmp_path, row("9.0")), reference)
    agreement.write_csv(found, tmp_path / "verification.csv")
    header, line = (tmp_path / "verification.csv").read_text().splitlines()
    assert header.split(",") == list(agreement.COLUMNS)
    assert line.startswith("invented,digits,EigenPro,epochs=5,test_error,drifted,4,9,")


def test_the_list_has_a_line_for_each_target_with_its_time(reference):
    index = folder.read_index(reference)
    machine = {"cpu": "Invented CPU", "cores": 2, "memory_bytes": 2**34, "gpu": None}
    index["targets"]["invented"] |= {"machines": [machine], "seconds": 1234.5, "finished": "2026-11-23T06:59:00+00:00"}
    text = "\n".join(folder.lines(index))
    assert "| invented | 0 | 1,234.5 | unknown | 1 | 2026-11-23 |" in text
    assert "| other | not run: not collected |" in text
    assert "Machine 1: Invented CPU, 2 cores, 16 GiB" in text


# The compact form ----------------------------------------------------------------------------------------------------


def a_record():
    """A record as a run leaves it, with invented numbers."""
    return {
        "schema_version": records.SCHEMA_VERSION,
        "run": {
            **{"id": "0123456789", "target_ids": ["invented"], "scale": "demo", "dataset": "digits", "variant": "unit"},
            **{"method": "eigenpro", "parameters": {"rank": 160}, "seed": 0, "marks": [1, 2], "key": "00ff"},
        },
        "data": {
            **{"title": "Digits", "n_train": 4, "n_test": 1, "n_features": 3, "sha256": "0" * 64},
            **{"licence": "none", "steps": []},
        },
        "effective": {"bandwidth": 5.0},
        "metrics": {"final": {"test_error": 4.0}, "marks": [{"epoch": 1, "test_error": 5.0}]},
        "model": {"sha256": "1" * 64},
        "times": dict.fromkeys(("preparation", "eigensystem", "kernel_matrix", "training", "prediction", "total"), 1.0),
        "peak_memory_bytes": 1000,
        "resumes": 0,
        "rollbacks": 0,
        "code": {"version": "0.2.0", "commit": "0" * 40, "dirty": False},
        "packages": {"numpy": "2.4.6"},
        "hardware": {"cpu": "Invented CPU", "cores": 2, "memory_bytes": 10**9, "gpu": None},
        "blas": {"library": "openblas", "version": "0.3", "core": "Zen", "threads": 1, "warning": None},
        "started": "2026-11-23T06:58:59+00:00",
        "finished": "2026-11-23T06:59:00+00:00",
    }


def test_a_compact_record_gives_all_of_the_record_again_but_its_curve():
    first, second = a_record(), a_record()
    second["run"]["id"], second["metrics"]["final"]["test_error"] = "abcdef0123", 4.5
    compact = compaction.compact_records({"runs/a-0123456789": first, "runs/a-abcdef0123": second})
    compact = json.loads(json.dumps(compact))  # as the file holds it
    assert len(compact["data"]) == len(compact["made_by"]) == 1  # told once
    for run, original in zip(compact["runs"], (first, second), strict=True):
        whole = compaction.whole_record(run, compact, "invented")
        records.check(whole)
        wanted = copy.deepcopy(original)
        wanted["run"]["marks"], wanted["metrics"]["marks"] = [], []
        assert whole == wanted


def test_rows_of_kept_runs_are_the_earlier_ones_and_mixed_ones_need_no_whole_curve():
    def one(metric, records, values, **given):
        return row(values.split(";")[-1], metric=metric, records=records, values=values, **given)

    before = [one("error", "old", "4"), one("slope", "gone", "4"), one("level", "old", "7")]
    before += [one("passage", "gone;old", "5;4", repetitions="2", seeds="7 0")]
    before += [one("mean", "old", "6"), one("forgotten", "old", "6"), one("mean", "gone", "5", method="SGD")]
    now = [
        one("error", "old", "9"),
        one("passage", "old", "1"),
        one("slope", "old", "2"),
        one("level", "old;new", "3;4"),
    ]
    now += [one("error", "new", "3", method="SGD"), one("passage", "old;new", "1;1", method="SGD"), row("", records="")]
    rows = [*earlier.with_earlier_rows(now, before, {"old"}, {"error", "level"}, {"mean", "error"})]
    # Earlier ones, not from a part of the curve, and without the repetition of a run that is not asked for; what was
    # made now; no slope of a kept run that had none, and no passage of a kept and a new run; at last what is known of
    # kept runs alone.
    found = [(one.method, one.metric, one.records, one.values, one.seeds) for one in rows]
    assert found == [
        ("EigenPro", "error", ("old",), (4.0,), ""),
        ("EigenPro", "passage", ("old",), (4.0,), "0"),
        ("EigenPro", "level", ("old", "new"), (3.0, 4.0), ""),
        ("SGD", "error", ("new",), (3.0,), ""),
        ("EigenPro", "test_error", (), (), ""),
        ("EigenPro", "mean", ("old",), (6.0,), ""),
    ]
    assert (rows[1].repetitions, rows[1].measured_mean) == (1, 4.0)


def test_a_run_of_the_reference_has_the_points_of_its_tables_unless_the_target_watches_for_a_passage():
    plan, place = Plan.load(PROJECT), PROJECT / "results/reference/laptop"
    index = folder.read_index(place)
    run = next(one for one in plan.runs_of("eigenpro_table6", "laptop") if "eigenpro_table3" in one.targets)
    table, counted = (
        earlier.run_of_reference(plan, run, target, place, index).curve.get("test_error", {})
        for target in ("eigenpro_table6", "eigenpro_table3")
    )
    assert {1, 5, 10, 20, 40} <= {*table} and not counted


def test_first_passages_come_from_the_tables_of_targets_that_look_for_the_same_ones():
    plan, place = Plan.load(PROJECT), PROJECT / "results/reference/laptop"
    target, index = "eigenpro_acceleration_claim", folder.read_index(place)
    runs = [run for run in plan.runs_of(target, "laptop") if run.dataset == "mnist"]
    found = [earlier.run_of_reference(plan, run, target, place, index) for run in runs]
    rows = folder.read_target(place, "eigenpro_table3", index).rows
    reached = {one.records: one.values for one in rows if one.metric == "epochs_needed" and one.passed is not None}
    of_table = {
        run: value for records, values in reached.items() if values for run, value in zip(records, values, strict=True)
    }
    known = [(run, one) for run, one in zip(runs, found, strict=True) if "epochs_needed" in one.curve]
    of_runs = {run.id: one.curve["epochs_needed"] for run, one in known}
    assert {run: curve.get(None) for run, curve in of_runs.items() if curve} == {
        run: value for run, value in of_table.items() if run in of_runs
    }
    never = [run for run, curve in of_runs.items() if not curve]
    assert never and all(reached[run,] == () for run in never)
    # Ridge regression sets the level, so that it has none; a run without any is not taken for one that never got there.
    spec, kept = plan.target(target), [one for one in found if one]
    assert {"epochs_needed", "ratio", "ratio_within"} <= earlier.by_passages(spec, kept)
    other = next(one for one in kept if "epochs_needed" in one.curve)
    del other.curve["epochs_needed"]
    assert "ratio" not in earlier.by_passages(spec, kept)


def test_repetitions_that_are_alike_and_claims_about_last_points_can_be_had_from_tables():
    plan, place = Plan.load(PROJECT), PROJECT / "results/reference/laptop"
    target, index = "dsg_fig1_quantummachine", folder.read_index(place)
    run = next(one for one in plan.runs_of(target, "laptop") if one.method == "doubly_stochastic")
    examples = earlier.run_of_reference(plan, run, target, place, index).curve["examples"]
    assert examples == {float(mark): 16384.0 * mark for mark in run.marks}
    assert {"test_mae", "end", "ahead_of_net"} <= earlier.by_points(plan.target(target))
    spec = {
        "metrics": {"error": {}, "ratio": {"over": "first"}},
        "claims": {
            "last": {"metric": "error", "reduce": "last"},
            "first": {"metric": "error", "at": 1},
            "mean": {"metric": "error"},
            "of_ratio": {"metric": "ratio", "reduce": "last"},
        },
    }
    assert earlier.by_points(spec) == {"error", "last"}


def test_folders_of_runs_become_their_identifiers():
    folders = "results/demo/runs/a/b/rank160-seed0-0123456789;results/demo/runs/a/b/rank160-seed1-abcdef0123"
    assert compaction.with_run_ids(row("4.0", records=folders)).records == ("0123456789", "abcdef0123")


def test_a_large_table_loses_points_of_its_curves_and_nothing_else(tmp_path, monkeypatch):
    target = targets.read(report_example.spectrum(tmp_path))
    assert compaction.thinned(target) == ([*target.rows], 1)
    size = sum(len(",".join(one.as_text().values())) + 1 for one in target.rows)
    monkeypatch.setattr(compaction, "LARGEST_TABLE", size // 3)
    kept, every = compaction.thinned(target)
    assert every >= 3
    places = [target.rows.index(one) for one in kept]
    assert places == sorted(places)
    drawn = [place for place, one in enumerate(target.rows) if target.is_drawn(one)]
    assert set(range(len(target.rows))) - set(drawn) <= set(places)
    curves = {}
    for place in drawn:
        keys = {**target.rows[place].keys, "index": ""}
        curves.setdefault(tuple(keys.items()), []).append(place)
    for curve in curves.values():
        assert curve[0] in places
        assert curve[-1] in places


def test_what_names_a_folder_of_this_machine_is_refused():
    for text in (f"in {PROJECT}/data", "supply /home/somebody/timit.zip", "/tmp/x"):
        with pytest.raises(ShallowsError, match="would reveal a path"):
            compaction.check_that_nothing_is_private(text, "The reference", PROJECT)
    for text in ("data/raw/timit", "https://example.org/home/data", "n/m and 1/tmp"):
        compaction.check_that_nothing_is_private(text, "The reference", PROJECT)
    compaction.check_that_nothing_is_private("n/approximation", "The reference", "/app")
    compaction.check_that_nothing_is_private("the /approximation", "The reference", "/app")
    if len(platform.node()) > 5 and platform.node() != "localhost":
        with pytest.raises(ShallowsError, match="would reveal a path"):
            compaction.check_that_nothing_is_private(f"on {platform.node()}", "The reference", PROJECT)


def test_a_claim_about_a_metric_of_the_machine_is_one_of_them_whatever_its_label_says():
    spec = {
        "metrics": {"fit_seconds": {"label": "of the fit"}, "test_error": {"label": "time after time an error"}},
        "claims": {
            "saved": {"label": "what is saved", "metric": "fit_seconds"},
            "exponent": {"label": "exponent in n", "metric": "training"},
            "best": {"label": "best of four times", "metric": "test_error"},
            "smallest": {"label": "smallest", "metric": "test_error"},
        },
    }
    named = ["fit_seconds", "training", "smallest"]
    assert collection.among(spec, named) == ["fit_seconds", "saved", "exponent", "smallest"]


def test_what_the_configuration_calls_of_the_machine_exists():
    plan = own_plan()
    names = {
        target: {*defined, *(one.get("metric") for one in defined.values())}
        for target, spec in plan.targets.items()
        for defined in [{**spec["metrics"], **spec.get("claims", {})}]
    }
    everywhere = collection.machine_metrics(PROJECT, "no target")
    assert set(everywhere) <= set().union(*names.values())
    for target in names:
        own = collection.machine_metrics(PROJECT, target)[len(everywhere) :]
        assert set(own) <= names[target], target


HELD = [path.parent for path in (PROJECT / "results" / "reference").glob("*/index.json")]


@pytest.mark.parametrize("held", HELD, ids=lambda path: path.name)
def test_what_the_repository_holds_is_whole_small_and_says_where_it_comes_from(held):
    index = folder.read_index(held)
    assert index["scale"] == held.name
    for target, entry in index["targets"].items():
        files = folder.read_target(held, target, index)
        assert len(files.rows) == entry["rows"]
        assert {run["run"]["scale"] for run in files.record["runs"]} == {held.name}
        assert all(len(commit) == 40 for commit in entry["commits"])
        assert entry["machines"]
    assert sum(path.stat().st_size for path in held.iterdir()) < 8_000_000
    for path in held.iterdir():
        compaction.check_that_nothing_is_private(path.read_text(), path.name, PROJECT)


def test_git_keeps_the_reference_and_no_other_result():
    if not (PROJECT / ".git").exists():
        pytest.skip("this is no clone")

    def is_ignored(path):
        return subprocess.run(["git", "-C", str(PROJECT), "check-ignore", "-q", "--no-index", path]).returncode == 0

    assert not is_ignored("results/reference/laptop/eigenpro_table6.csv")
    assert is_ignored("results/laptop/tables/eigenpro_table6.csv")


def plan_data(rank_name, ranks=(1, 2), seeds=(0, 1)):
    """What `renaming.plan_of` says of one target with an axis of ranks, whose parameter has some name."""
    runs, series = {}, []
    for rank in ranks:
        parameters = {rank_name: rank, "fit_intercept": False}
        of_rank = [PlannedRun("demo", "digits", "plain", "eigenpro", parameters, seed, (5,)) for seed in seeds]
        series.append(["Digits", "EigenPro", {"rank": str(rank)}, [5], [run.id for run in of_rank]])
        for run in of_rank:
            asked = run.dataset, run.variant, run.method, run.parameters, run.seed, run.unit
            runs[run.id] = [*asked, list(run.marks)]
    return {"runs": runs, "series": {"invented": series}}


def test_runs_of_the_reference_get_the_names_that_the_present_plan_gives_to_them(tmp_path):
    old, new = plan_data("rank"), plan_data("solver__rank")
    names = renaming.pairs(old, new)
    lacking = PlannedRun("", "digits", "plain", "eigenpro", {"rank": 2}, 1)  # made before the intercept was a parameter
    stored = [
        {"folder": "runs/old", "run": {"id": one, "dataset": "digits", "variant": "plain", "method": "eigenpro"}}
        for one in [*[*old["runs"]][:3], lacking.id]
    ]
    for place, entry in enumerate(stored):
        whole = {"rank": 1 + place // 2, "fit_intercept": False}
        entry["run"] |= {"parameters": whole if place < 3 else {"rank": 2}, "seed": place % 2}
    rows = [row("4.0", records=";".join(one["run"]["id"] for one in stored))]
    sums = folder.write_target(tmp_path, "invented", rows, {"runs": stored, "timed_runs": [stored[0]["run"]["id"]]})
    folder.write_index(tmp_path, {"scale": "demo", "targets": {"invented": sums}, "not_run": {}})
    assert [*renaming.rename(tmp_path, old, new, {"eigenpro": {"fit_intercept": False}})] == [
        "invented: 4 of 4 runs renamed"
    ]
    found = folder.read_target(tmp_path, "invented", folder.read_index(tmp_path))
    ids = [one["run"]["id"] for one in found.record["runs"]]
    now = PlannedRun("", "digits", "plain", "eigenpro", {"solver__rank": 2}, 1)
    assert ids == [*(names[one["run"]["id"]] for one in stored[:3]), now.id]
    assert found.record["runs"][3]["run"]["parameters"] == {"solver__rank": 2}
    assert found.record["runs"][3]["folder"] == now.folder
    assert found.record["timed_runs"] == ids[:1]
    assert found.rows == [replace(rows[0], records=tuple(ids))]


def test_plans_that_ask_for_other_runs_are_not_paired():
    old = plan_data("rank")
    with pytest.raises(ShallowsError, match="The target invented has other series"):
        renaming.pairs(old, plan_data("rank", seeds=(0,)))
    with pytest.raises(ShallowsError, match="has other series"):
        renaming.pairs(old, plan_data("rank", ranks=(2, 1)))
    new = plan_data("rank")
    new["series"]["invented"][1][4] = new["series"]["invented"][0][4]
    with pytest.raises(ShallowsError, match=r"Two runs .* have become one"):
        renaming.pairs(old, new)


def test_the_plan_of_a_checkout_is_read_by_its_own_code(tmp_path):
    found = renaming.plan_of(PROJECT)["demo"]
    plan = own_plan()
    assert found["series"].keys() == plan.targets.keys()
    run = next(iter(plan.runs("demo").values()))
    assert found["runs"][run.id][renaming.PARAMETERS] == run.parameters
    with pytest.raises(ShallowsError, match="cannot be read"):
        renaming.plan_of(tmp_path)
