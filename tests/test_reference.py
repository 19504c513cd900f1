"""Reference results: what agrees, what drifts, what is refused, and what the repository holds."""

import gzip
import itertools
import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import yaml

from own_plan import finished_targets
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing.table_rows import COLUMNS, Row, write_rows
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.experiments.planning.runs import PlannedRun
from shallows_papers.experiments.running import record as records
from shallows_papers.reference import agreement, collection, drawing, folder
from shallows_papers.reference.held import Reference
from shallows_papers.report.target import Target
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


#: The variance of a mean over two seeds, here and there, and that of 4 % counted on 1,000 points.
OF_SEEDS, OF_COUNTS = 0.1**2 / 2 + 0.1**2 / 2, 100**2 * 0.04 * 0.96 / 1000
ALONE = {"unit": "", "measured_sd": "", "repetitions": "1"}


@pytest.mark.parametrize(
    ("given", "margin"),
    [
        ({}, 2 * (OF_SEEDS + OF_COUNTS) ** 0.5 + 0.04),  # two standard errors, and 1 % of 4
        # A claim that compares methods has fewer repetitions than runs.
        ({"records": "a;b;c;d", "unit": "", "evidence": "order"}, 2 * OF_SEEDS**0.5 + 0.04),
        (ALONE, 4.0 * agreement.RELATIVE_ALONE),
        ({"evidence": "fact"}, 0.004),
    ],
    ids=["an error", "a claim", "one seed", "a fact"],
)
def test_a_number_may_differ_by_its_margin(given, margin):
    assert agreement.margin_between(row("4.0", **given), row("4.1", **given), 4000.0)[0] == pytest.approx(margin)
    for factor, state in ((0.95, agreement.AGREES), (1.05, agreement.DRIFTED)):
        assert (
            states([row("4.0", **given), row("4000")], [row(str(4 + factor * margin), **given), row("4000")])[0]
            == state
        )


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


# Verification --------------------------------------------------------------------------------------------------------


@pytest.fixture
def held(monkeypatch):
    """A reference of one invented target with one number."""
    monkeypatch.setattr(agreement, "of_the_machine", lambda plan, target: ())
    table = Target((row("4.0"),), {})
    return SimpleNamespace(
        **{"scale": "demo", "targets": ["invented"], "plan": SimpleNamespace(targets=["invented", "other"])},
        **{"table": lambda target: table, "runs_of": lambda target: [], "timed": lambda target: (), "unrequested": []},
    )


def own_results(results, *rows):
    write_rows(results / "tables" / "invented.csv", rows)
    return results


def test_a_verification_says_what_drifted_and_what_was_not_run(held, tmp_path):
    assert agreement.verify(held, own_results(tmp_path / "good", row("4.0"))).holds
    bad = agreement.verify(held, own_results(tmp_path / "bad", row("9.0", verdict="deviates")))
    assert not bad.holds
    told = "\n".join(agreement.report(bad, held))
    assert "drifted: digits · EigenPro · epochs=5 · test_error: 9 here" in told and "verdict:" not in told
    agreement.write_csv(bad, tmp_path / "verification.csv")
    header, line = (tmp_path / "verification.csv").read_text().splitlines()
    assert header.split(",") == list(agreement.COLUMNS)
    assert line.startswith("invented,digits,EigenPro,epochs=5,test_error,drifted,4,9,")
    other = agreement.verify(held, own_results(tmp_path / "other", row("4.1", verdict="deviates")))
    assert other.holds and "deviates here, reproduced there" in "\n".join(agreement.report(other, held))


def test_a_verification_of_nothing_does_not_hold(held, tmp_path):
    none = agreement.verify(held, tmp_path / "none")
    assert not none.holds
    said = "\n".join(agreement.report(none, held))
    assert said.count("Nothing could be compared: of 1 targets") == 1
    assert "Not run here: invented" in said
    assert "Not in the reference: other" in said
    with pytest.raises(UnknownNameError, match="invented"):
        agreement.verify(held, tmp_path, ["invnted"])


# The files -----------------------------------------------------------------------------------------------------------

DEMO, LAPTOP = (PROJECT / "results" / "reference" / scale for scale in ("demo", "laptop"))
TARGET = "eigenpro_heat_kernel_reach"  # of six short runs


@pytest.fixture(scope="module")
def demo(full_plan):
    return Reference(full_plan, "demo", DEMO)


@pytest.fixture
def results(full_plan, demo, tmp_path):
    """Finished runs of one target, as Snakemake leaves them."""
    for run in full_plan.runs_of(TARGET, "demo"):
        place = tmp_path / "demo" / run.folder
        place.mkdir(parents=True)
        (place / "record.json").write_text(json.dumps(demo.runs[run.id]["record"]))
        (place / "curve.csv").write_text(demo.runs[run.id]["curve"])
    return tmp_path / "demo"


@pytest.fixture
def collected(full_plan, results, tmp_path):
    """A reference of these runs."""
    said = [*collection.collect(full_plan, "demo", results, tmp_path / "ref", [TARGET], older=True)]
    assert said == [f"{TARGET}: 6 runs"]
    return tmp_path / "ref"


def test_a_page_of_one_target_is_drawn_without_the_others(full_plan, tmp_path):
    page = drawing.draw(full_plan, "demo", DEMO, tmp_path, [TARGET])
    assert [path.stem for path in (tmp_path / "tables").glob("*.csv")] == [TARGET]
    assert "1 of 1 targets" in page.read_text() and (tmp_path / "figures" / f"{TARGET}.svg").exists()
    with pytest.raises(UnknownNameError, match=f"Did you mean '{TARGET}'"):
        drawing.draw(full_plan, "demo", DEMO, tmp_path / "misspelled", [TARGET[:-1]])
    assert not (tmp_path / "misspelled").exists()


def test_collected_runs_give_the_same_table_and_the_same_file_to_the_bit(full_plan, demo, results, collected):
    found = Reference(full_plan, "demo", collected)
    assert TARGET in found.targets and "eigenpro_table6" not in found.targets
    assert {name: demo.runs[name] for name in found.runs} == found.runs
    assert found.table(TARGET) == demo.table(TARGET)
    text = "\n".join(found.lines())
    assert f"| {TARGET} | 6 | " in text and "Machine 1: AMD EPYC, 2 cores, 24 GiB" in text
    assert "| eigenpro_table6 | not among the reference results: not collected |" in text
    before = (collected / folder.RUNS).read_bytes()
    [*collection.collect(full_plan, "demo", results, collected, [TARGET], older=True)]
    assert (collected / folder.RUNS).read_bytes() == before


@pytest.mark.parametrize("place", ["demo", "laptop"])
def test_a_torn_file_is_refused_by_name(full_plan, collected, place):
    if place == "laptop":
        for name in (folder.INDEX, "eigenpro_table3.csv", "eigenpro_table3.json"):
            (collected / name).write_bytes((LAPTOP / name).read_bytes())
    target, name = (TARGET, folder.RUNS) if place == "demo" else ("eigenpro_table3", "eigenpro_table3.csv")
    content = (collected / name).read_bytes()
    (collected / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(folder.TornReferenceError, match=rf"{name} is damaged.*git checkout"):
        Reference(full_plan, place, collected).table(target)
    (collected / name).unlink()
    with pytest.raises(folder.TornReferenceError, match=f"{name} is listed"):
        Reference(full_plan, place, collected).table(target)


def test_a_torn_index_and_one_of_another_form_are_refused(collected):
    path = collected / folder.INDEX
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    with pytest.raises(folder.TornReferenceError, match=r"index\.json is damaged"):
        folder.read_index(collected)
    path.write_text(text.replace('"format": 3', '"format": 2'))
    with pytest.raises(folder.TornReferenceError, match="the format 2"):
        folder.read_index(collected)
    path.unlink()
    with pytest.raises(folder.TornReferenceError, match="make reference"):
        folder.read_index(collected)


def test_what_is_not_finished_or_of_other_code_is_not_collected_and_what_is_held_stays(full_plan, results, collected):
    path = next(results.glob("runs/*/*/*/record.json"))
    record = json.loads(path.read_text())
    record["run"]["key"] = record["run"]["key"][::-1]  # as of other code
    path.write_text(json.dumps(record))
    (said,) = collection.collect(full_plan, "demo", results, collected, [TARGET])
    assert "of other code or parameters" in said and "stays" in said
    first = next(results.glob("runs/*/*/*"))
    first.rename(results / "away")
    (said,) = collection.collect(full_plan, "demo", results, collected.with_name("new"), [TARGET], older=True)
    assert said == f"{TARGET}: not collected, 1 of its 6 runs are not finished"
    # With older ones, a missing run comes from the reference.
    assert [*collection.collect(full_plan, "demo", results, collected, [TARGET], older=True)] == [f"{TARGET}: 6 runs"]
    assert len(Reference(full_plan, "demo", collected).runs) == 6


def test_a_run_of_a_modified_tree_is_not_collected(full_plan, results, tmp_path):
    path = next(results.glob("runs/*/*/*/record.json"))
    record = json.loads(path.read_text())
    record["code"]["dirty"] = True
    path.write_text(json.dumps(record))
    (said,) = collection.collect(full_plan, "demo", results, tmp_path / "ref", [TARGET], older=True)
    assert said.startswith(f"{TARGET}: not collected, 1 of its runs were made with uncommitted changes")
    assert f"rm -r {path.parent} && snakemake --cores all --config scale=demo -- {TARGET}" in said


def test_a_run_that_no_configuration_requests_is_told_and_removed_by_the_next_collection(full_plan, results, collected):
    index = folder.read_index(collected)
    runs = folder.read_runs(collected, index)
    name = next(iter(runs))
    stray = {**runs[name], "record": {**runs[name]["record"]}}
    stray["record"]["run"] = {**stray["record"]["run"], "id": "0123456789"}
    folder.write(collected, {**runs, "0123456789": stray}, index)
    found = Reference(full_plan, "demo", collected)
    assert found.unrequested == ["0123456789"] and "0123456789" in [*found.lines()][-1]
    said = [*collection.collect(full_plan, "demo", results, collected, [TARGET], older=True)]
    assert said[-1] == "Removed 1 runs that the present configuration does not request"
    assert Reference(full_plan, "demo", collected).unrequested == []


@pytest.mark.parametrize("points_of", [None, ["another_target"]], ids=["missing", "points of another target"])
def test_a_target_of_which_a_run_is_missing_has_the_rows_of_the_others(full_plan, collected, tmp_path, points_of):
    index = folder.read_index(collected)
    runs = folder.read_runs(collected, index)
    gone = runs.pop(next(run.id for run in full_plan.runs_of(TARGET, "demo")))
    if points_of:
        runs[gone["record"]["run"]["id"]] = {**gone, "points_of": points_of}
    folder.write(collected, runs, index)
    (said,) = collection.collect(full_plan, "demo", tmp_path / "no results", collected, [TARGET], older=True)
    assert said.startswith(f"{TARGET}: not collected, 1 of its 6 runs are not finished")
    table = Reference(full_plan, "demo", collected).table(TARGET)
    absent = [one for one in table.rows if "not among the reference results" in one.reason]
    assert absent and all(one.verdict == Verdict.NOT_RUN for one in absent)
    assert any(one.measured_mean is not None for one in table.rows)
    assert not any(gone["record"]["run"]["id"] in place for one in table.rows for place in one.records)


def test_a_series_of_which_a_seed_is_missing_is_not_run(full_plan, demo):
    series = next(one for one in full_plan.comparison("eigenpro_table6", "demo")["series"] if len(one["run_ids"]) > 1)
    found = Reference(full_plan, "demo", DEMO)
    found.runs = {name: run for name, run in demo.runs.items() if name != series["run_ids"][0]}
    kernel = f"kernel={series['setting']['kernel']};"
    rows = [one for one in found.table("eigenpro_table6").rows if one.method == series["method"] and one.published]
    assert {one.verdict for one in rows if kernel in one.setting} == {Verdict.NOT_RUN}


@pytest.mark.parametrize(
    ("text", "is_private"),
    [
        (f"in {PROJECT}/data", True),
        ("supply /home/somebody/timit.zip", True),
        ("/tmp/x", True),
        ("data/raw/timit", False),
        ("https://example.org/home/data", False),
        ("n/m and 1/tmp", False),
    ],
)
def test_what_names_a_folder_of_this_machine_is_refused(text, is_private):
    with pytest.raises(ShallowsError, match="would reveal a path") if is_private else nullcontext():
        collection.check_that_nothing_is_private(text, "The reference", PROJECT)


# What the repository holds -------------------------------------------------------------------------------------------


def test_the_demo_holds_every_run_that_the_configuration_requests_and_no_other(full_plan, demo):
    planned = {run.id: run for target in finished_targets() for run in full_plan.runs_of(target, "demo")}
    without_extra = {name for name, run in planned.items() if full_plan.extra_of_run(run)}
    assert {*demo.runs} <= {*planned} <= {*demo.runs} | without_extra
    for name, stored in demo.runs.items():
        records.check(stored["record"])
        asked, wanted = stored["record"]["run"], planned[name].spec(full_plan.configuration.methods)
        common = asked.keys() & wanted.keys()
        assert {key: asked[key] for key in common} == {key: wanted[key] for key in common}
        assert len(stored["record"]["code"]["commit"]) == 40


def requested(plan, run, written_out):
    """The identifier that a run of the laptop scale has in the present plan, with what it had without naming it."""
    unnamed = {}
    for entry in written_out:
        unnamed |= entry["parameters"] if run["method"] in entry["methods"] else {}
    for names in itertools.chain.from_iterable(itertools.combinations(unnamed, n) for n in range(len(unnamed) + 1)):
        parameters = {**{name: unnamed[name] for name in names}, **run["parameters"]}
        about = run["dataset"], run["variant"], run["method"], parameters, run["seed"]
        found = PlannedRun("laptop", *about, unit=run.get("unit", "")).id
        if found in plan.runs("laptop"):
            return found
    return None


def test_every_run_of_the_laptop_is_requested_for_the_rows_that_show_it(full_plan):
    written_out = yaml.safe_load((PROJECT / "config" / "reference.yaml").read_text())["written_out"]
    index = folder.read_index(LAPTOP)
    for target in index["rows"]:
        old, series = folder.read_rows_of(LAPTOP, target, index), full_plan.comparison(target, "laptop")["series"]
        now = {run["folder"]: requested(full_plan, run["run"], written_out) for run in old.record["runs"]}
        of_target = {one for each in series for one in each["run_ids"]}
        for row in (row for row in old.rows if row.records):
            of_method = [one for one in series if one["method"] == row.method and one["data"] in row.printed_data]
            wanted = {one for each in of_method for one in each["run_ids"]} if row.method else of_target
            assert {now[one] for one in row.records} <= wanted, (
                f"The reference row {row.method}, {row.setting}, {row.metric} of {target} has runs that no "
                "configuration requests."
            )


@pytest.mark.parametrize("place", [DEMO, LAPTOP], ids=["demo", "laptop"])
def test_what_the_repository_holds_is_small_and_names_no_machine(place):
    assert folder.read_index(place)["scale"] == place.name
    assert sum(path.stat().st_size for path in place.iterdir()) < 8_000_000
    for path in place.iterdir():
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
        collection.check_that_nothing_is_private(text, path.name, PROJECT)
