"""The catalogue: its schema, its entries, and how little reading it costs."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import pytest
import yaml

from shallows import datasets
from shallows.datasets.catalogue import CATALOGUE_PATH, SCHEMA_PATH
from shallows.datasets.formats import READERS
from shallows.errors import UnknownNameError


@pytest.fixture
def schema():
    return jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text()))


@pytest.fixture
def content():
    return yaml.safe_load(CATALOGUE_PATH.read_text())


def test_the_catalogue_keeps_to_its_schema(schema, content):
    schema.check_schema(schema.schema)
    schema.validate(content)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda entry: entry.update(sise=3),
        lambda entry: entry.pop("licence"),
        lambda entry: entry.update(task="clustering"),
        lambda entry: entry.update(n_classes=0),
        lambda entry: entry["files"][0].update(sha256="abc"),
        lambda entry: entry["files"][0].update(url="https://example.org"),
        lambda entry: entry["files"][0].update(name="../outside"),
        lambda entry: entry.update(sources=["https://example.org/no-slash"]),
        lambda entry: entry.update(state="embedded"),
    ],
)
def test_the_schema_refuses_a_spoilt_entry(schema, content, spoil):
    spoil(content["datasets"]["mnist"])
    assert not schema.is_valid(content)


def test_the_schema_names_exactly_the_formats_that_are_read(schema):
    assert set(schema.schema["$defs"]["dataset"]["properties"]["format"]["enum"]) == set(READERS)


def test_every_entry_is_whole():
    for name, dataset in datasets.catalogue().items():
        assert dataset.name == name
        parts = [file.part for file in dataset.files]
        assert len(set(parts)) == len(parts)
        assert len({file.name for file in dataset.files}) == len(parts)
        assert ("all" in parts) == (dataset.n_test == 0)
        if dataset.classes:
            assert len(dataset.classes) == dataset.n_classes
        if dataset.state == "public":
            assert all(file.urls for file in dataset.files)
        if dataset.state == "embedded":
            full = datasets.get(dataset.subset_of)
            assert (dataset.n_train, dataset.n_test) == (dataset.draw["n_train"], dataset.draw["n_test"])
            for shared in ("n_features", "n_classes", "classes", "licence", "format", "value_range", "options"):
                assert getattr(dataset, shared) == getattr(full, shared)


def test_a_file_lies_at_every_source_under_its_own_name():
    file = datasets.get("mnist").files[0]
    assert len(file.urls) >= 2
    assert all(url.endswith("/" + file.name) for url in file.urls)


def test_an_unknown_dataset_gets_the_nearest_name():
    with pytest.raises(UnknownNameError, match="Did you mean 'mnist'"):
        datasets.get("minst")


def test_the_answer_is_a_dictionary_of_ones_own():
    datasets.catalogue().clear()
    assert "mnist" in datasets.catalogue()


def test_reading_the_catalogue_and_checking_steps_imports_nothing_heavy():
    code = (
        "import sys; from shallows import datasets; datasets.catalogue(); "
        "datasets.shape_after(datasets.get('mnist'), [{'pca': {'n_components': 3}}]); "
        "print([m for m in ('pandas', 'sklearn', 'scipy', 'pooch', 'requests', 'jsonschema') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.strip() == "[]"
