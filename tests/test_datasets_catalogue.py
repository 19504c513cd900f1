"""The catalogue: its schema, its entries, and how little reading it costs."""

import copy
import itertools
import math

import jsonschema
import pytest
import yaml

from shallows_papers import datasets
from shallows_papers.datasets.catalogue import CATALOGUE_PATH, SCHEMA_PATH, STATES, _normalize_name
from shallows_papers.datasets.formats import READERS


@pytest.fixture(scope="module")
def schema():
    return jsonschema.Draft202012Validator(yaml.safe_load(SCHEMA_PATH.read_text()))


@pytest.fixture(scope="module")
def content():
    return yaml.safe_load((CATALOGUE_PATH / "public.yaml").read_text())


@pytest.mark.parametrize("state", STATES)
def test_the_catalogue_keeps_to_its_schema(schema, state):
    schema.check_schema(schema.schema)
    content = yaml.safe_load((CATALOGUE_PATH / f"{state}.yaml").read_text())
    schema.validate(content)
    assert {entry["state"] for entry in content["datasets"].values()} == {state}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda entry: entry.update(sise=3),
        lambda entry: entry.pop("licence"),
        lambda entry: entry.update(task="clustering"),
        lambda entry: entry["files"][0].update(sha256="abc"),
        lambda entry: entry["files"][0].update(name="../outside"),
        lambda entry: entry.update(sources=["https://example.org/no-slash"]),
        lambda entry: entry.update(state="embedded"),
        lambda entry: entry.update(generator={"name": "nothing"}),
        lambda entry: entry["files"][0].update(part="training"),
    ],
)
def test_the_schema_refuses_a_spoilt_entry(schema, content, spoil):
    entry = copy.deepcopy(content["datasets"]["mnist"])
    alone = {**content, "datasets": {"mnist": entry}}
    assert schema.is_valid(alone)
    spoil(entry)
    assert not schema.is_valid(alone)


def test_the_schema_names_exactly_the_formats_that_are_read(schema):
    # Generated and own data do not come from files of a format.
    named = set(schema.schema["$defs"]["dataset"]["properties"]["format"]["enum"])
    assert named - {"generated", "user"} == set(READERS)


@pytest.mark.parametrize("name", sorted(datasets.catalogue()))
def test_every_entry_is_whole(name):
    dataset = datasets.get(name)
    assert dataset.name == name
    for form in dataset.all_forms:
        parts = [file.part for file in form.files]
        assert len(set(parts)) == len(parts)
        assert len({file.name for file in form.files}) == len(parts)
        if dataset.n_test == 0 and form.files and dataset.state != "generated":
            assert all(part.startswith("all") for part in parts)
        assert set(form.options.get("categories", {})) == {
            str(column) for column in dataset.categorical if form.format == "csv"
        }
    assert not dataset.exact or None not in (dataset.n_train, dataset.n_test, dataset.n_features)
    # A form is known by its parts, so none may be contained in another.
    forms = [{file.part for file in form.files} for form in dataset.all_forms]
    assert all(not one <= other for one, other in itertools.permutations(forms, 2))
    assert all(len(list_of) in (0, dataset.n_classes) for list_of in (dataset.classes, dataset.class_counts))
    if dataset.class_counts:
        assert sum(dataset.class_counts) == dataset.n_train
    if dataset.picture:
        size = math.prod(dataset.picture[key] for key in ("height", "width", "channels"))
        assert size == dataset.n_features
    if dataset.state == "public":
        assert all(file.urls for file in dataset.files)
        assert all(url.startswith("http") for form in dataset.all_forms for file in form.files for url in file.urls)


# Every dataset that the five documents name, as their list has it.
NAMED = """
Adult; MNIST; MNIST-10k; MNIST-8M; MNIST-8M 8 vs 6; Forest; CIFAR-10; ImageNet-2012; QuantumMachine; MolecularSpace
DSG synthetic regression; SVHN; HINT-S; HINT-M; HINT-M-10k; TIMIT; SUSY; Heaviside step on the circle
Periodic functions on [0,2pi]; Epsilon; Year; Gaussian 1-D (synthetic); Gaussian/Gamma mixture views (synthetic)
KUKA; astro-ph; CCAT; cov1; Reuters; USPS; a9a; ijcnn; webspam; mnist_bin; mnist_mc; rcv1_bin; url; CPU; Census
KDDCUP99; Application data of the lecturer's group (PAIRPred, PyLemmings, pRANK, CAMELS, MILIAMP, CAFE-Map)
"""
NAMES = [name.strip() for line in NAMED.strip().splitlines() for name in line.split(";")]


def test_every_dataset_of_the_documents_is_found_by_its_name_there_whatever_its_capitals_and_hyphens():
    assert len(NAMES) == len(set(NAMES)) == 40
    assert not [name for name in NAMES if not datasets.get(name).used_by]
    others = {"Adult": "a9a", "hint-s": "hint_s", "KDDCUP99": "kddcup99", "MNIST-8M": "mnist8m", "Year": "year"}
    assert {name: datasets.get(name).name for name in others} == others


def test_no_two_datasets_answer_to_one_name():
    entries = datasets.catalogue().values()
    names = [name for one in entries for name in {_normalize_name(name) for name in (one.name, *one.also_called)}]
    assert len(names) == len(set(names))
