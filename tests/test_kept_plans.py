"""Plans that are kept: what is planned again, and what is not."""

import shutil

import pytest

from shallows_papers.experiments.planning import kept_plans, plan
from shallows_papers.experiments.planning.plan import Plan
from workflow_runs import PROJECT


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of what planning reads in a project, with one paper."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "workflow" / "schemas", root / "workflow" / "schemas")
    leave_out = shutil.ignore_patterns("cdsg", "dsg", "eigenpro", "kpca")
    shutil.copytree(PROJECT / "config", root / "config", ignore=leave_out)
    return root


@pytest.fixture
def kept(project, tmp_path, monkeypatch):
    """The plan of the project, kept; planning again is an error."""
    monkeypatch.setattr(kept_plans, "FOLDER", tmp_path / "kept")
    made = Plan.load(project)
    run = next(iter(made.runs("demo").values()))
    files = made.files_of(run)
    made.keep()

    def fail(*_):
        raise AssertionError("planned again")

    monkeypatch.setattr(plan, "load", fail)
    again = Plan.load(project)
    monkeypatch.setattr(plan.code, "files_of_run", fail)
    assert again == made
    assert again.files_of(run) == files
    return again


def test_another_setting_or_file_is_planned_anew(kept, project):
    with pytest.raises(AssertionError, match="planned again"):
        Plan.load(project, {"scale": "laptop"})
    paper = next((project / "config" / "papers").glob("*/targets*.yaml"))
    before = paper.read_text()
    paper.write_text(before + "\n# A comment.\n")
    try:
        with pytest.raises(AssertionError, match="planned again"):
            Plan.load(project)
    finally:
        paper.write_text(before)


@pytest.mark.parametrize("folder", ["shallows", "shallows_papers"])
def test_a_changed_source_file_has_another_plan(kept, project, tmp_path, monkeypatch, folder):
    monkeypatch.setattr(kept_plans.SHALLOWS, "folder", tmp_path / "src")
    source = tmp_path / "src" / folder / "below" / "a.py"
    source.parent.mkdir(parents=True)
    names = []
    for content in ("x = 1", "x = 2", "x = 1"):
        source.write_text(content)
        names.append(kept_plans.name_of(project, {}, False))
    assert names[0] == names[2] != names[1]


def test_data_that_a_user_supplies_are_seen(kept, project, monkeypatch):
    name = next(name for name, entry in kept.catalogue.items() if entry.state == "supplied")
    assert kept.surroundings[name]
    monkeypatch.setattr(plan.Plan, "_to_be_supplied", lambda *_: None)
    with pytest.raises(AssertionError, match="planned again"):
        Plan.load(project)


def test_a_damaged_file_is_planned_anew_and_few_files_are_kept(kept, project):
    path = kept_plans.FOLDER / kept.file_name
    for number in range(12):
        kept_plans.write(f"plan-{number}.pickle", kept)
    assert len([*kept_plans.FOLDER.iterdir()]) == kept_plans.MOST_FILES
    path.write_bytes(b"no plan")
    with pytest.raises(AssertionError, match="planned again"):
        Plan.load(project)
