"""What a preparation depends on: the modules of its steps and reader, and its entries."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from shallows_papers import datasets
from shallows_papers.datasets import formats, identity, synthetic
from shallows_papers.datasets.preparation import steps

TABLES = (steps.STEPS, synthetic.GENERATORS, formats.READERS)


@pytest.fixture(scope="module")
def closure():
    """Return a function from names of modules to these modules and all that they import."""
    graph = pytest.importorskip("grimp").build_graph(
        "shallows", "shallows_papers", exclude_type_checking_imports=True, cache_dir=None
    )
    return lambda *names: set(names).union(*map(graph.find_upstream_modules, names))


@pytest.mark.parametrize("core", [identity.CORE, "shallows_papers.datasets.prepared", "shallows_papers.datasets"])
def test_the_core_imports_no_step_no_generator_and_no_reader(core, closure):
    particular = {table.module_of(name) for table in TABLES for name in table}
    assert not closure(core) & particular


def test_a_preparation_depends_on_its_own_steps_and_reader_alone(closure):
    used = identity.modules_of(datasets.get("a9a"), [{"unit": {}}, {"pca": {"n_components": 3}}])
    assert "shallows_papers.datasets.formats.libsvm" in used
    assert {name.rpartition(".")[2] for name in used if ".steps." in name} == {"scaling", "pca"}
    reached = closure(*used)
    for other in ("steps.columns", "steps.net_features", "formats.cifar", "synthetic.latent_views", "nets"):
        assert not [name for name in reached if other in name]


def test_generated_data_depend_on_their_generator_and_on_what_they_are_made_from(closure):
    used = identity.modules_of(datasets.get("mnist_endless"))
    assert {"shallows_papers.datasets.synthetic.endless_digits", "shallows_papers.datasets.formats.idx"} <= set(used)
    assert set(identity.entries_of(datasets.get("mnist_endless"))) == {"mnist_endless", "mnist"}
    used = identity.modules_of(datasets.get("gaussian_1d"))
    assert not [name for name in closure(*used) if "teacher" in name or name.endswith((".idx", ".libsvm"))]


def test_the_schema_of_the_configuration_names_the_steps_and_parameters_of_the_classes():
    path = Path(__file__).parents[1] / "workflow" / "schemas" / "datasets.schema.yaml"
    named = yaml.safe_load(path.read_text())["$defs"]["step"]["properties"]
    assert set(named) == set(steps.STEPS)
    for name, spec in named.items():
        fields = {field.name: field for field in dataclasses.fields(steps.STEPS[name])}
        assert set(spec.get("properties", {})) == set(fields), name
        needed = {key for key, field in fields.items() if field.default is dataclasses.MISSING}
        assert set(spec.get("required", [])) == needed, name
