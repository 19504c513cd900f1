"""Supplied data: the entry says what belongs where, checks it when it comes, and nothing runs or fails without it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from datasets_example import dataset
from own_plan import own_configuration
from shallows_papers import datasets
from shallows_papers.datasets import File, SuppliedDataError
from shallows_papers.datasets.catalogue import Form
from shallows_papers.datasets.download import supplied_files
from shallows_papers.experiments.planning.plan import Plan

X, Y = {"shape": ["n", 3]}, {"shape": ["n"], "low": 0, "high": 2, "whole": True}
ARRAYS = {"x_train": X, "y_train": Y, "x_test": X, "y_test": Y}


def speech(**changes):
    """Return a supplied dataset of three features and three classes, as four .npy files or one .npz."""
    files = tuple(File(f"{name}.npy", name, arrays={name: spec}) for name, spec in ARRAYS.items())
    together = Form((File("speech.npz", "data", arrays=ARRAYS),), "arrays")
    entry = {"n_train": 1000, "n_test": 100, "n_features": 3, "n_classes": 3, "exact": False, "licence": "a licence"}
    entry |= {"state": "supplied", "files": files, "format": "arrays", "forms": (together,)}
    return dataset(name="speech", **entry | changes)


def arrays(n: int = 30, n_test: int = 12) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n + n_test, 3)).astype(np.float32)
    y = np.arange(n + n_test) % 3
    return {"x_train": x[:n], "y_train": y[:n], "x_test": x[n:], "y_test": y[n:]}


def supply(root: Path, content: dict[str, np.ndarray], together: bool = False) -> None:
    folder = root / "speech"
    folder.mkdir(parents=True, exist_ok=True)
    if together:
        np.savez(folder / "speech.npz", **content)
    else:
        for name, array in content.items():
            np.save(folder / f"{name}.npy", array)


@pytest.mark.parametrize("together", [False, True], ids=["npy", "npz"])
def test_supplied_arrays_are_taken_and_prepared(tmp_path, together):
    content = arrays()
    supply(tmp_path, content, together)
    stamp = datasets.fetch(speech(), tmp_path)
    datasets.prepare(speech(), stamp, tmp_path / "out")
    data = datasets.load(tmp_path / "out")
    for name, array in content.items():
        np.testing.assert_array_equal(getattr(data, name), array)


def test_what_is_not_there_is_told_with_the_form_of_every_file(tmp_path):
    supply(tmp_path, {"x_train": arrays()["x_train"]})
    with pytest.raises(SuppliedDataError) as told:
        datasets.fetch(speech(), tmp_path)
    for words in (
        "'speech' (Toy) has to be supplied by the user: a licence",
        f"Put into {tmp_path / 'speech'}",
        "x_train.npy: x_train of shape (n, 3), finite numbers",
        "y_test.npy: y_test of shape (n), whole numbers from 0 to 2",
        "or, instead:",
        "speech.npz: x_train of shape (n, 3)",
        "There now: x_train.npy",
    ):
        assert words in str(told.value)
    assert not (tmp_path / "speech" / "verified.json").exists()


def spoilt(name: str, change) -> dict[str, np.ndarray]:
    content = {key: array.copy() for key, array in arrays().items()}
    content[name] = change(content[name])
    return content


def with_value(place, value):
    def change(array):
        array = array.astype(float)
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("x_train", lambda x: x[:, :2], r"x_train in .* has the shape \(30, 2\), not \(n, 3\)"),
        ("x_train", lambda x: x[:29], r"x_train has 29 rows and y_train 30"),
        (
            "x_test",
            with_value((4, 1), np.nan),
            r"x_test in .*: the value nan in row 5, column 2 is not a finite number",
        ),
        ("y_train", with_value(7, 3), r"y_train in .*: the value 3.0 in row 8, column 1 is outside 0 to 2"),
        ("y_train", with_value(7, 1.5), r"the value 1.5 in row 8, column 1 is not a whole number"),
        ("y_train", lambda y: y.astype(str), r"y_train in .* has the type <U21; numbers are expected"),
    ],
)
@pytest.mark.parametrize("together", [False, True], ids=["npy", "npz"])
def test_arrays_of_another_form_are_told(tmp_path, together, name, change, words):
    supply(tmp_path, spoilt(name, change), together)
    with pytest.raises(SuppliedDataError, match=words) as told:
        datasets.fetch(speech(), tmp_path)
    assert "Put into" in str(told.value)
    assert not (tmp_path / "speech" / "verified.json").exists()


@pytest.mark.parametrize("name", [name for name, one in datasets.catalogue().items() if one.state == "supplied"])
def test_every_supplied_dataset_says_what_to_do(tmp_path, name):
    with pytest.raises(SuppliedDataError) as told:
        datasets.fetch(name, tmp_path)
    entry = datasets.get(name)
    assert entry.licence in str(told.value)
    for file in entry.files:
        assert f"- {file.name}" in str(told.value)
    assert supplied_files.not_run(entry, tmp_path / name).startswith("supply ")


# What the workflow makes of it


def test_a_target_says_what_to_supply_and_has_its_runs_once_that_is_there(tmp_path, monkeypatch):
    monkeypatch.delenv("SHALLOWS_MIRROR", raising=False)
    own = own_configuration()
    of_paper = {"settings": {**own.settings, "data": str(tmp_path)}, "papers": {"eigenpro": own.papers["eigenpro"]}}
    configuration = dataclasses.replace(own, **of_paper)
    plan = Plan(configuration, datasets.catalogue())
    reason = plan.comparison("eigenpro_fig3_eigenspectrum", "laptop")["missing"]["TIMIT"]
    assert reason.startswith("supply x_train.npy, y_train.npy, x_test.npy, y_test.npy or timit.npz in")
    assert str(tmp_path / "raw" / "timit") in reason
    assert not any(run.dataset == "timit" for run in plan.runs("laptop").values())
    (tmp_path / "raw" / "timit").mkdir(parents=True)
    (tmp_path / "raw" / "timit" / "timit.npz").write_bytes(b"it is here")
    plan = Plan(configuration, datasets.catalogue())
    comparison = plan.comparison("eigenpro_fig3_eigenspectrum", "laptop")
    assert "TIMIT" not in comparison["missing"]
    assert "HINT-S" in comparison["missing"]
    assert any(run.dataset == "timit" for run in plan.runs("laptop").values())
