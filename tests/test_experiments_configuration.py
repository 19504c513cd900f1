import shutil

import pytest
import yaml

from shallows.datasets import DatasetError
from shallows.errors import UnknownNameError
from shallows.experiments.planning import configuration
from shallows.experiments.planning.configuration import ConfigurationError
from workflow_runs import PROJECT


@pytest.fixture
def settings():
    return configuration.read_yaml(PROJECT / "config" / "config.yaml")


@pytest.fixture
def project(tmp_path):
    shutil.copytree(PROJECT / "config", tmp_path / "config")
    shutil.copytree(PROJECT / "workflow" / "schemas", tmp_path / "workflow" / "schemas")
    return tmp_path


def changed(path, change):
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content))


def test_the_files_agree_with_their_schemas(settings):
    loaded = configuration.load(PROJECT)
    assert loaded.settings == settings
    assert loaded.papers and loaded.methods and loaded.variants


def test_schema_and_defaults_name_the_same_settings(settings):
    schema = configuration.read_yaml(PROJECT / "workflow" / "schemas" / "config.schema.yaml")
    assert set(schema["properties"]) == set(settings) == set(schema["required"])


def test_every_schema_is_closed():
    for path in (PROJECT / "workflow" / "schemas").glob("*.yaml"):
        assert configuration.read_yaml(path)["additionalProperties"] is False, path


def test_the_scales_of_the_schemas_are_those_of_the_code():
    schemas = PROJECT / "workflow" / "schemas"
    config = configuration.read_yaml(schemas / "config.schema.yaml")
    paper = configuration.read_yaml(schemas / "paper.schema.yaml")
    assert tuple(config["properties"]["scale"]["enum"]) == configuration.SCALES
    assert tuple(paper["$defs"]["target"]["properties"]["scales"]["required"]) == configuration.SCALES


@pytest.mark.parametrize(
    ("key", "value", "nearest"),
    [("sclae", "demo", "scale"), ("scale", "dmeo", "demo"), ("device", "gpuu", "gpu"), ("pathvars", {}, "data")],
)
def test_an_unknown_key_or_choice_names_the_nearest(settings, key, value, nearest):
    with pytest.raises(UnknownNameError, match=nearest):
        configuration.load(PROJECT, {**settings, key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [("seeds", 3), ("seeds", []), ("seeds", [0, 0]), ("memory", "much"), ("memory", 0), ("checkpoint_seconds", 0)],
)
def test_a_value_of_the_wrong_kind_is_told_with_its_place(settings, key, value):
    with pytest.raises(ConfigurationError, match=key):
        configuration.load(PROJECT, {**settings, key: value})


def test_an_unknown_key_of_a_target_names_the_nearest_and_the_file(project):
    path = project / "config" / "papers" / "eigenpro.yaml"
    changed(path, lambda paper: next(iter(paper["targets"].values())).update(capton="x"))
    with pytest.raises(UnknownNameError, match=r"caption.*eigenpro\.yaml"):
        configuration.load(project)


def test_published_values_need_their_columns(project):
    path = next((project / "config" / "published").glob("*.csv"))
    path.write_text(path.read_text().replace("metric", "metrics", 1))
    with pytest.raises(ConfigurationError, match="lacks the columns metric"):
        configuration.load(project)


def test_a_setting_is_read_as_it_is_written():
    setting = {"kernel": "Gaussian", "epochs": "5"}
    assert configuration.parse_setting(configuration.format_setting(setting)) == setting


# Variants that stand after another one


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
    with pytest.raises(DatasetError, match=r"split must stand before unit.*variant 'one' in"):
        with_variants(project, one={"title": "", "after": "unit", "steps": [{"split": {"n": 0.1}}]})
