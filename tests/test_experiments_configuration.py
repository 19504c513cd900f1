import shutil

import pytest
import yaml

from own_plan import own_configuration
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.datasets import DatasetError
from shallows_papers.experiments.parameters import by_last_name, flat
from shallows_papers.experiments.planning import configuration
from shallows_papers.experiments.planning.configuration import ConfigurationError
from shallows_papers.report import figures
from workflow_runs import PROJECT


@pytest.fixture
def settings():
    return configuration.read_yaml(PROJECT / "config" / "config.yaml")


@pytest.fixture
def project(tmp_path):
    shutil.copytree(PROJECT / "config", tmp_path / "config")
    shutil.copytree(PROJECT / "workflow" / "schemas", tmp_path / "workflow" / "schemas")
    papers = tmp_path / "config" / "papers"
    for path in papers.glob("*/targets*.yaml"):  # one file of them is read sooner
        if path != papers / "eigenpro" / "targets.yaml":
            path.unlink()
    return tmp_path


def changed(path, change):
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content))


def test_the_files_agree_with_their_schemas(settings):
    loaded = own_configuration()
    assert loaded.settings == settings
    assert loaded.papers and loaded.methods and loaded.variants


def test_a_repeated_key_is_refused(tmp_path):
    (tmp_path / "a.yaml").write_text("methods:\n  one: {label: first}\n  two: {}\n  one: {label: second}\n")
    with pytest.raises(configuration.ConfigurationError, match="the key 'one' is repeated"):
        configuration.read_yaml(tmp_path / "a.yaml")


def test_schemas_are_closed_and_have_the_scales_and_figures_of_the_code():
    schemas = {
        path.name: configuration.read_yaml(path) for path in (PROJECT / "workflow" / "schemas").glob("*.schema.yaml")
    }
    assert all(schema["additionalProperties"] is False for schema in schemas.values())
    target = schemas["paper.schema.yaml"]["$defs"]["target"]["properties"]
    assert tuple(schemas["config.schema.yaml"]["properties"]["scale"]["enum"]) == configuration.SCALES
    assert tuple(target["scales"]["required"]) == configuration.SCALES
    assert set(target["figure"]["properties"]["kind"]["enum"]) == set(figures.KINDS)


@pytest.mark.parametrize(
    ("key", "value", "nearest"),
    [("sclae", "demo", "scale"), ("scale", "dmeo", "demo"), ("device", "gpuu", "gpu"), ("pathvars", {}, "data")],
)
def test_an_unknown_key_or_choice_names_the_nearest(settings, key, value, nearest):
    with pytest.raises(UnknownNameError, match=nearest):
        configuration.load(PROJECT, {**settings, key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seeds", -1),
        ("seeds", "three"),
        ("seeds", []),
        ("seeds", [0, 0]),
        ("memory", "much"),
        ("memory", 0),
        ("checkpoint_seconds", 0),
        ("limits", {"minutes": 0}),
        ("limits", {"threads": "all"}),
        ("limits", {"memory": "much"}),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_with_its_place(settings, key, value):
    with pytest.raises(ConfigurationError, match=key):
        configuration.load(PROJECT, {**settings, key: value})


def test_seeds_may_be_given_as_snakemake_reads_them_from_a_command_line(project):
    for given, meant in ((3, [3]), (["0", "1"], [0, 1]), (None, None)):
        assert configuration.load(project, {"seeds": given}).settings["seeds"] == meant


def test_published_values_need_their_columns(project):
    path = project / "config" / "papers" / "eigenpro" / "published" / "eigenpro_table6.csv"
    path.write_text(path.read_text().replace("metric", "metrics", 1))
    with pytest.raises(ConfigurationError, match="lacks the columns metric"):
        configuration.load(project)


# Variants that continue another one


def with_variants(project, **variants):
    changed(project / "config" / "datasets.yaml", lambda content: content["variants"].update(variants))
    return configuration.load(project)


def test_the_steps_of_a_variant_begin_with_those_of_the_one_it_stands_after(project):
    loaded = with_variants(
        project,
        first={"title": "", "steps": [{"unit": {}}]},
        second={"title": "", "after": "first", "steps": [{"zscore": {}}]},
        third={"title": "", "after": "second", "steps": [{"pca": {"n_components": 2}}]},
    )
    assert loaded.steps_of("third") == [{"unit": {}}, {"zscore": {}}, {"pca": {"n_components": 2}}]
    assert loaded.steps_of("first") == [{"unit": {}}]


@pytest.mark.parametrize(
    ("variants", "error", "told"),
    [
        (
            {"one": "unti"},
            UnknownNameError,
            r"no variant 'unti'\. Did you mean 'unit'.*variant 'one' in .*datasets\.yaml",
        ),
        ({"one": "one"}, ConfigurationError, "'one' never begins: one after one. Leave 'after' out"),
        ({"one": "two", "two": "three", "three": "one"}, ConfigurationError, "one after two after three after one"),
        ({"in": "one", "one": "two", "two": "one"}, ConfigurationError, "in after one after two after one"),
        ({"one": 3}, ConfigurationError, "expected the name of another variant"),
    ],
)
def test_a_variant_that_stands_after_nothing_that_begins_is_told(project, variants, error, told):
    with pytest.raises(error, match=told):
        with_variants(project, **{name: {"title": "", "after": after, "steps": []} for name, after in variants.items()})


def test_a_step_that_cannot_stand_after_earlier_ones_is_told_before_those_are_done(project):
    with pytest.raises(DatasetError, match=r"split must come before unit.*variant 'one' in"):
        with_variants(project, one={"title": "", "after": "unit", "steps": [{"split": {"n": 0.1}}]})


def test_nested_parameters_of_objects_are_flattened_to_paths_when_the_configuration_is_read(project):
    given = {
        "alpha": 0.0,
        "solver": {"eigenpro": {"rank": 160, "step": {"release2017": {"eta": 5.0}}}},
        "kernel": {"matern": {"nu": 2.5}},
        "features": {"fourier": {"kernel": {"matern": None}}},
        "options": {"dtype": "float64"},
        "early_stopping": {"fraction": 0.2},
        "fixed": {"n": 3},
    }
    expected = {
        "alpha": 0.0,
        "solver": "eigenpro",
        "solver__rank": 160,
        "solver__step": "release2017",
        "solver__step__eta": 5.0,
        "kernel": "matern",
        "kernel__nu": 2.5,
        "features": "fourier",
        "features__kernel": "matern",
        "options__dtype": "float64",
        "early_stopping__fraction": 0.2,
        "fixed": {"n": 3},
    }
    assert flat(given) == expected == flat(expected)
    assert [*flat(given)] == [*expected]
    step = {"release2017": {"eta": 5.0}}
    assert flat({"solver__step": step}) == {"solver__step": "release2017", "solver__step__eta": 5.0}
    assert by_last_name({"rank": 1, "solver__rank": 2, "solver__step__eta": 3}) == {"rank": 1, "eta": 3}

    def nest(content):
        content["methods"]["krls"]["parameters"] = {"solver": {"cholesky": {"tol": 1e-3}}}

    changed(project / "config" / "methods.yaml", nest)
    assert configuration.load(project).methods["krls"]["parameters"] == {"solver": "cholesky", "solver__tol": 1e-3}


def test_the_configuration_of_the_slurm_drill_is_valid():
    drill = configuration.load(PROJECT, {"configuration": str(PROJECT / "tests" / "drill" / "config")})
    assert "pausing_sgd" in drill.methods


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solver": {"eigenpro": {}, "smo": {}}}, "solver must be a name, or a name with its parameters"),
        ({"solver": {"rank": 160}}, "Got {'rank': 160}"),
        ({"solver__rank": 1, "solver": {"eigenpro": {"rank": 160}}}, "solver__rank is given twice"),
    ],
)
def test_nested_parameters_that_name_no_object_are_refused(given, message):
    with pytest.raises(ShallowsError, match=message):
        flat(given)
