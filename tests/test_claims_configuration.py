"""Claims as the configuration writes them: impossible claims are refused, and all that is written is used."""

import copy
import shutil

import pytest
import yaml

from own_plan import own_configuration, own_plan
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing import target_table, verdicts
from shallows_papers.experiments.planning import configuration, target_entry
from shallows_papers.experiments.planning.configuration import ConfigurationError
from shallows_papers.experiments.setting_text import parse_setting
from workflow_runs import PROJECT

SPEC = {
    "metrics": {"error": {"label": "error"}},
    "claims": {
        "claim": {"label": "x", "evidence": "order", "fixed": "first commit", "at_most": 1, "of": {"method": "fast"}}
    },
    "methods": {"fast": {}},
    "settings": {"kernel": {}},
}


CLAIMS = "shallows_papers.papers.eigenpro.claims"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"at_most": None}, "needs a criterion"),
        ({"of": {"method": "fats"}}, "Did you mean 'fast'"),
        ({"of": {"kernle": "g"}}, "Did you mean 'kernel'"),
        ({"over": {"method": "fats"}}, "Did you mean 'fast'"),
        ({"at_least": 0}, "needs a criterion"),
        ({"evidence": "theorem"}, "could_fail.*which data or code would contradict it"),
        ({"evidence": "derivation"}, "A derivation has no criterion"),
        ({"evidence": "derivation", "at_most": None}, "why.*why no run can contradict it"),
        ({"why": "it is a formula"}, "has no 'why'"),
        ({"corrects": "a formula"}, "has no 'corrects'"),
        ({"evidence": "number", "refuted": "another formula"}, "cannot be 'refuted'"),
        ({"fixed": None}, "when its criterion was set"),
        ({"evidence": "own"}, "has no 'fixed'"),
        ({"over": {"method": "fast"}, "less": {"method": "fast"}}, "a ratio or about a difference"),
        ({"paired": "counted"}, "the interval of a difference"),
        ({"less": {"method": "fats"}}, "Did you mean 'fast'"),
        ({"at_most": None, "tolerance": {"absolute": 1}, "paired": True}, "An interval is judged by"),
        ({"reduce": "lrgest"}, "Did you mean 'largest'.*target toy, claim claim"),
        ({"across": "smalest"}, "Did you mean 'smallest'"),
        ({"at": 2, "reduce": "last"}, "at or reduce, not both"),
        ({"across": f"{CLAIMS}:largest_log_gap", "reduce": "last"}, "or across: .*largest_log_gap, not both"),
        ({"across": f"{CLAIMS}:largest_lag_gap"}, "Did you mean 'largest_log_gap'"),
        ({"reduce": "shallows_papers.papers.eigenprot.claims:slope"}, "cannot be found: No module named"),
    ],
)
def test_a_claim_that_cannot_be_meant_is_told(change, problem):
    spec = copy.deepcopy(SPEC)
    claim = {**spec["claims"]["claim"], **change}
    spec["claims"]["claim"] = {key: value for key, value in claim.items() if value is not None}
    with pytest.raises(ShallowsError, match=problem):
        target_entry.check("toy", spec)


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"kernle": "g"}, "key of a row 'kernle'. Did you mean 'kernel'"),
        ({"method": ["fast", "fats"]}, "method 'fats'. Did you mean 'fast'"),
        ({"metric": "eror"}, "metric 'eror'. Did you mean 'error'"),
        ({"data": "Tyo"}, "data 'Tyo'. Did you mean 'Toy'"),
    ],
)
def test_a_cause_of_rows_that_cannot_be_is_told(where, problem):
    spec = copy.deepcopy(SPEC) | {"scales": {"demo": {"data": {"Toy": {}}}}}
    spec["causes"] = [{"cause": "other data", "why": "for the test", "where": {"kernel": "g", "metric": "claim"}}]
    target_entry.check("toy", spec)
    spec["causes"][0]["where"] = where
    with pytest.raises(UnknownNameError, match=problem):
        target_entry.check("toy", spec)


def test_a_claim_at_no_evaluation_point_and_published_rows_of_no_setting_are_told():
    spec = copy.deepcopy(SPEC) | {"mark": "epochs", "scales": {"demo": {"data": {}, "runs": [{"marks": [1, 5]}]}}}
    spec["claims"]["claim"]["at"] = 5
    target_entry.check("toy", spec)
    spec["claims"]["claim"]["at"] = 3
    with pytest.raises(ConfigurationError, match=r"at: 3 is no evaluation point.*'marks' have 1, 5.*claim claim"):
        target_entry.check("toy", spec)
    row = {"metric": "claim", "setting": "kernel=g; epochs=2"}
    target_entry.check_published("toy", spec, [row])
    with pytest.raises(UnknownNameError, match=r"setting 'epoch'. Did you mean 'epochs'.*its published values"):
        target_entry.check_published("toy", spec, [row | {"setting": "epoch=2"}])


def with_sources(**changes):
    """A target whose sources are whole, changed."""
    fast = {"method": "m", "parameters": {"rank": 160}, "sources": {}}
    fast["sources"] = {name: {"printed": "Table 1"} for name in ("rank", "bandwidth", "batch_size", "memory")}
    entries = {"fast": fast, "fast (ours)": {"method": "m", "ours": "fast"}}
    for name, change in changes.items():
        word, _, key = name.partition("__")
        entries.setdefault(word.replace("_", " "), {"method": "m"})[key or "method"] = change
    runs = [{"methods": ["fast"], "parameters": {"batch_size": 256}}, {"data": ["Toy"]}]
    return {
        "settings": {"kernel": {"g": {"bandwidth": 5.0}}},
        "methods": entries,
        "scales": {"demo": {"runs": runs, "data": {"Toy": {"parameters": {"memory": 1}}, "Absent": {"missing": "so"}}}},
    }


METHODS = {
    "m": {"parameters": {"tol": 0.0}, "sources": {"tol": {"printed": "Table 1"}}},
    "bare": {"parameters": {"tol": 0}},
    "of classes": {"parameters_in": {"classification": {"fit_intercept": False}}},
}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"fast__parameters": {"rank": 160, "damping": 1.0}}, "No source is given for damping.*method fast"),
        ({"fast__method": "bare"}, "No source is given for tol"),
        ({"fast__method": "of classes"}, "No source is given for fit_intercept"),
        ({"other": "m"}, "No source is given for bandwidth, memory.*method other"),
        (
            {"fast__sources": {"rnk": {"printed": "Table 1"}}},
            r"has 'rnk', but the method gets no such parameter. .* gets bandwidth, batch_size",
        ),
        ({"fast__ours": "fsat"}, "method 'fsat'. Did you mean 'fast'"),
        ({"fast__ours": "fast (ours)"}, "is a method of ours, not one of the paper"),
        ({"quick__ours": "fast"}, "a name that ends in '\\(ours\\)', like 'fast \\(ours\\)'"),
    ],
)
def test_a_series_whose_settings_have_no_source_or_that_is_not_called_ours_is_refused(changes, problem):
    target_entry.check_series("toy", with_sources(), METHODS)
    with pytest.raises((ConfigurationError, UnknownNameError), match=problem):
        target_entry.check_series("toy", with_sources(**changes), METHODS)


@pytest.mark.parametrize(
    ("paper", "old", "new", "problem"),
    [
        (
            "eigenpro/targets",
            "{method: eigenspectrum,",
            "{method: eigenspectrum, sources: {kernel: {heard: somewhere}},",
            "'heard'",
        ),
        (
            "lecture/targets_features",
            "cause: setting not printed",
            "cause: setting not printd",
            "Did you mean 'setting not printed'",
        ),
    ],
    ids=["a source", "a cause"],
)
def test_a_source_or_a_cause_of_another_kind_is_refused(project, paper, old, new, problem):
    path = project / "config" / "papers" / f"{paper}.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UnknownNameError, match=problem):
        configuration.load(project)


@pytest.fixture
def project(tmp_path):
    """The configuration with two of its papers, since reading all takes a second."""
    shutil.copytree(PROJECT / "config", tmp_path / "config", ignore=shutil.ignore_patterns("papers"))
    for paper in ("eigenpro", "lecture"):
        shutil.copytree(PROJECT / "config" / "papers" / paper, tmp_path / "config" / "papers" / paper)
    shutil.copytree(PROJECT / "workflow" / "schemas", tmp_path / "workflow" / "schemas")
    return tmp_path


def test_files_of_one_paper_are_one_paper():
    loaded = own_configuration()
    folder = PROJECT / "config" / "papers"
    of_paper = [set(yaml.safe_load(path.read_text())["targets"]) for path in folder.glob("eigenpro/targets*.yaml")]
    assert len(of_paper) > 1
    assert set(loaded.papers["eigenpro"]["targets"]) == set.union(*of_paper)
    assert sum(map(len, of_paper)) == len(loaded.papers["eigenpro"]["targets"])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda one: one.update(title="Another"), "another title"),
        (lambda one: one["targets"].update(eigenpro_table6=next(iter(one["targets"].values()))), "a second time"),
    ],
)
def test_files_of_one_paper_must_agree(project, change, problem):
    path = project / "config" / "papers" / "eigenpro" / "targets_theory.yaml"
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigurationError, match=problem):
        configuration.load(project)


def test_the_schema_has_the_criteria_and_causes_of_the_code():
    target = configuration.read_yaml(PROJECT / "workflow" / "schemas" / "paper.schema.yaml")["$defs"]
    described = {name: one.get("description", "") for name, one in target["claim"]["properties"].items()}
    criteria = {name for name, text in described.items() if text.startswith("a criterion:")}
    assert criteria == set(target_entry.CRITERIA)
    causes = target["target"]["properties"]["causes"]["items"]["properties"]["cause"]["enum"]
    assert tuple(causes) == verdicts.CAUSES


def test_what_the_papers_say_names_methods_and_settings_that_exist():
    plan = own_plan()
    for target, spec in plan.targets.items():
        for row in plan.configuration.published[target]:
            if row["metric"] in spec.get("claims", {}):
                assert row["method"] in ("", *spec["methods"]), (target, row)
                assert set(parse_setting(row["setting"])) <= set(spec["settings"]), (target, row)


def test_a_paper_may_have_methods_of_its_own(project):
    path = project / "config" / "papers" / "eigenpro" / "methods.yaml"
    entry = {
        "label": "own",
        "runs": "analysis",
        "call": {"any": "m:f"},
        "takes": "data",
        "index": "n",
        "cost": "features",
    }
    path.write_text(yaml.safe_dump({"methods": {"own": entry}}))
    assert configuration.load(project).methods["own"] == entry
    for methods, problem in (
        ({"eigenpro": entry}, "'eigenpro' a second time"),
        ({"own": {**entry, "lable": 1}}, "label"),
    ):
        path.write_text(yaml.safe_dump({"methods": methods}))
        with pytest.raises((ConfigurationError, UnknownNameError), match=problem):
            configuration.load(project)


def test_a_setting_with_several_values_shows_each_kind_of_source():
    described = target_table.describe(own_plan().comparison("eigenpro_table3", "laptop"), {})
    assert described["sources"]["Pegasos"]["bandwidth"].startswith("printed: Table 6 (MNIST); chosen: CIFAR-10 by our")
