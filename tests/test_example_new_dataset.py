"""The worked example of a new dataset, generator and preparation step: each is found, checked and prepared."""

import hashlib
import importlib
import re

import jsonschema
import numpy as np
import pytest
import yaml

from shallows_papers import datasets
from shallows_papers.datasets import DatasetError, identity, synthetic
from shallows_papers.datasets.preparation import steps
from workflow_runs import PROJECT

catalogue = importlib.import_module("shallows_papers.datasets.catalogue")  # the package gives its function by this name


@pytest.fixture
def flowers(tmp_path, monkeypatch):
    """The files in a mirror, and the entry of the example among the others of the catalogue."""
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{('daisy', 'tulip')[i % 2]}\n" for i, (a, b) in enumerate(rng.uniform(1, 9, (60, 2)))]
    file, folder = "".join(["length,width,kind\n", *rows]), tmp_path / "mirror" / "flowers"
    folder.mkdir(parents=True)
    (folder / "flowers.csv").write_text(file)
    page = (PROJECT / "docs" / "extending.md").read_text(encoding="utf-8")
    text = re.search(r"```yaml\n(flowers:.*?)```", page, re.DOTALL)[1]
    text = text.replace("SHA256", hashlib.sha256(file.encode()).hexdigest()).replace("1000", str(len(file)))
    content = yaml.safe_load(text)
    schema = yaml.safe_load(catalogue.SCHEMA_PATH.read_text(encoding="utf-8"))
    jsonschema.validate({"schema_version": 1, "datasets": content}, schema)
    known = catalogue._content()
    monkeypatch.setattr(catalogue, "_content", lambda: {**known, **content})
    for cached in (catalogue._entries, catalogue._other_names):
        cached.cache_clear()
    monkeypatch.setitem(steps.STEPS, "clip", "example_new_step:Clip")
    monkeypatch.setitem(synthetic.GENERATORS, "two_moons", "example_new_generator:TwoMoons")
    yield tmp_path
    monkeypatch.undo()
    for cached in (catalogue._entries, catalogue._other_names):
        cached.cache_clear()


SPLIT = {"split": {"n": 20}}


def test_the_entry_of_a_new_dataset_is_all_that_it_needs(flowers):
    stamp = datasets.fetch("Flowers", flowers / "raw", flowers / "mirror", progress=False)
    datasets.prepare("flowers", stamp, flowers / "out", [SPLIT, {"unit": {}}])
    data = datasets.load(flowers / "out")
    assert (data.x_train.shape, data.x_test.shape, data.info["licence"]) == ((40, 2), (20, 2), "CC BY 4.0")
    assert (data.x_train.min(), data.x_train.max()) == (0.0, 1.0)


def test_a_new_step_learns_from_the_training_part_alone(flowers):
    stamp = datasets.fetch("flowers", flowers / "raw", flowers / "mirror", progress=False)
    datasets.prepare("flowers", stamp, flowers / "plain", [SPLIT])
    info = datasets.prepare("flowers", stamp, flowers / "out", [SPLIT, {"clip": {"deviations": 1}}])
    plain, data = datasets.load(flowers / "plain"), datasets.load(flowers / "out")
    mean, deviation = plain.x_train.mean(axis=0), plain.x_train.std(axis=0)
    np.testing.assert_allclose(data.x_test, np.clip(plain.x_test, mean - deviation, mean + deviation), rtol=1e-5)
    np.testing.assert_allclose(info["statistics"][-1]["clip"]["low"], mean - deviation, rtol=1e-5)
    with pytest.raises(DatasetError, match="deviations must be a positive number, not -1"):
        datasets.check_steps([{"clip": {"deviations": -1}}])


def test_a_new_generator_gives_the_same_examples_in_any_blocks(flowers):
    moons = synthetic.make("two_moons", seed=1, noise=0.05)
    x, y = moons.block(0, 9000)
    np.testing.assert_array_equal(moons.block(4000, 4100)[0], x[4000:4100])
    distance = np.hypot(*np.where(y == 0, x.T, np.array([[1.0], [0.5]]) - x.T))
    np.testing.assert_allclose(distance, 1.0, atol=0.3)


def test_what_was_prepared_before_depends_on_neither(flowers):
    used = identity.modules_of(datasets.get("flowers"), [{"unit": {}}])
    assert not [name for name in used if "example" in name]
    assert "example_new_step" in identity.modules_of(datasets.get("flowers"), [{"clip": {}}])
    assert identity.entries_of(datasets.get("flowers"))["flowers"]["n_train"] == 60
