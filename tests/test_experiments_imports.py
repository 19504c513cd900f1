"""Which rooms of experiments/ and report/ import which."""

import grimp
import pytest


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("shallows", "shallows_papers", cache_dir=None)


def modules_of(graph, *rooms):
    return [one for one in sorted(graph.modules) if one.startswith(tuple(f"shallows_papers.{room}" for room in rooms))]


def test_a_report_knows_the_rows_verdicts_and_versions_of_experiments_and_nothing_else(graph):
    imported = {
        one for module in modules_of(graph, "report") for one in graph.find_modules_directly_imported_by(module)
    }
    found = {one for one in imported if one.startswith("shallows_papers.experiments")}
    known = ("comparing.table_rows", "comparing.verdict_log", "comparing.verdicts", "other_versions")
    assert found == {f"shallows_papers.experiments.{name}" for name in known}
    below = modules_of(graph, "experiments")
    assert not any(graph.find_modules_directly_imported_by(one) & set(modules_of(graph, "report")) for one in below)


def test_comparing_knows_records_and_no_plan(graph):
    found = set()
    for module in modules_of(graph, "experiments.comparing"):
        found |= graph.find_modules_directly_imported_by(module)
    outside = {one for one in found if one.startswith("shallows_papers.experiments") and ".comparing" not in one}
    assert outside == {f"shallows_papers.experiments.{one}" for one in ("parameters", "running.record", "setting_text")}
