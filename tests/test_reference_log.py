"""The log of criteria, settings and verdicts: it has every change, and what ``make lint`` refuses has one sentence."""

import copy
from types import SimpleNamespace

import pytest

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing import verdict_log as log
from shallows_papers.reference import verdict_checks
from shallows_papers.reference.held import Reference
from workflow_runs import PROJECT


@pytest.fixture(scope="module")
def present(full_plan):
    return verdict_checks.log_values(Reference(full_plan, log.SCALE, PROJECT / "results" / "reference" / log.SCALE))


def test_the_reference_and_its_log_are_complete(full_plan):
    assert [*verdict_checks.problems(full_plan, PROJECT / "results" / "reference")] == []


def test_a_criterion_that_changed_without_an_entry_is_told_in_a_sentence(full_plan, present):
    target = "eigenpro_table6"
    spec = copy.deepcopy(full_plan.target(target))
    spec["metrics"]["test_error"]["tolerance"]["standard_errors"] = 3
    (said,) = log.unlogged(log.read(PROJECT / "config" / log.NAME), {**present, **log.entries_of(target, spec)})
    assert (
        said.startswith("The criterion of eigenpro_table6, test_error, changed from {") and "without an entry" in said
    )
    assert '"standard_errors":2}' in said and '"standard_errors":3}' in said
    spec["metrics"]["test_error"]["tolerance"] |= {"standard_errors": 2, "reason": "only this text is another"}
    assert log.unlogged(log.read(PROJECT / "config" / log.NAME), {**present, **log.entries_of(target, spec)}) == []


def test_a_setting_without_a_source_is_told_in_a_sentence(full_plan):
    spec = copy.deepcopy(full_plan.target("dsg_fig1_adult"))
    del spec["sources"]["bandwidth"], spec["sources"]["solver__damping"]
    planned = SimpleNamespace(targets={"dsg_fig1_adult": spec}, configuration=full_plan.configuration)
    said = [*verdict_checks.of_sources(planned)]
    assert said[0] == "The settings bandwidth, solver__damping of doubly SGD in dsg_fig1_adult have no source."
    assert said[1] == "The settings bandwidth of NORMA in dsg_fig1_adult have no source."


SPEC = {
    "metrics": {"error": {"label": "e", "evidence": "number", "tolerance": {"absolute": 1, "reason": "rounding"}}},
    "claims": {"first": {"label": "f", "evidence": "order", "at_most": 1, "refuted": "at most 2"}},
    "methods": {"m": {"method": "ridge", "parameters": {"alpha": 1}, "sources": {"alpha": {"printed": "Table 1"}}}},
    "scales": {"laptop": {"runs": [{"methods": ["m"], "parameters": {"alpha": 2}}, {"methods": ["other"]}]}},
}


def test_criteria_and_settings_are_the_texts_of_their_entries_without_reasons_and_sources():
    assert log.entries_of("t", SPEC) == {
        ("criterion", "t", "error"): '{"evidence":"number","tolerance":{"absolute":1}}',
        ("criterion", "t", "first"): '{"at_most":1,"evidence":"order","refuted":true}',
        ("setting", "t", "m"): '{"laptop":[{"alpha":2}],"method":"ridge","parameters":{"alpha":1}}',
    }


def test_changes_are_appended_with_their_reason_and_nothing_else_is_touched(tmp_path):
    path = tmp_path / "log.csv"
    first = (
        ",".join(log.COLUMNS) + "\n2026-01-01,verdict,t,row,,undecided,collected\n2026-01-02,count,,all,,3,counted\n"
    )
    path.write_text(first)
    now = {("verdict", "t", "row"): "reproduced", **log.entries_of("t", SPEC)}
    assert [*log.append(path, now, "no change", ["u"])] == [f"0 entries appended to {path}"]
    said = [*log.append(path, now, "five more seeds")]
    assert said[0] == "verdict t row: undecided → reproduced" and said[-1].startswith("4 entries appended")
    assert path.read_text().startswith(first)
    line = log.read(path)[2]
    assert line["old"] == "undecided" and line["new"] == "reproduced" and line["reason"] == "five more seeds"
    assert log.unlogged(log.read(path), now) == []
    assert [*log.append(path, now, "again")] == [f"0 entries appended to {path}"]
    [*log.append(path, {}, "removed")]
    assert log.last_values(log.read(path))["criterion", "t", "error"] == ""


def test_a_log_with_other_columns_is_refused(tmp_path):
    (tmp_path / "log.csv").write_text("date,target\n1,2\n")
    with pytest.raises(ShallowsError, match="the columns date, target instead of date, what"):
        log.read(tmp_path / "log.csv")


def test_a_run_that_is_not_requested_or_of_changed_code_is_told_in_a_sentence():
    def run(*, dirty):
        return {"record": {"code": {"dirty": dirty}}}

    runs = {"a": run(dirty=False), "b": run(dirty=True), "c": run(dirty=None)}
    held = SimpleNamespace(scale="demo", unrequested=["a"], runs=runs)
    assert [*verdict_checks.of_runs(held)] == [
        "The run a of the reference demo is requested by no target. Collect its target again.",
        "The run b of the reference demo was made with uncommitted changes. Run it again.",
    ]
