"""Trainings that are killed at random moments, by SIGKILL to their whole group, end in the model of no kill."""

import importlib.util
import json

import pytest

from workflow_runs import PROJECT


@pytest.fixture(scope="module")
def kills():
    """The program of the drill, which is no module of the package."""
    found = importlib.util.spec_from_file_location("kills", PROJECT / "benchmarks" / "kills.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def digest(folder):
    return json.loads((folder / "model.json").read_text())["digest"]


@pytest.mark.slow
def test_killed_trainings_find_the_same_model_to_the_bit(kills):
    # A few here; the program itself does twenty.
    whole, *killed = kills.drill(2, n=1500, epochs=12)
    assert whole["resumes"] == 0
    assert all(one["same"] for one in killed)
    assert any(one["killed"] for one in killed)


def test_the_drill_notices_another_model(kills, tmp_path):
    for epochs in (1, 2):
        (tmp_path / f"{epochs}").mkdir()
        kills.train(tmp_path / f"{epochs}", 400, epochs)
    assert digest(tmp_path / "1") != digest(tmp_path / "2")
