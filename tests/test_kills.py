"""Trainings that are killed at random moments, by SIGKILL to their whole group, end in the model of no kill."""

import importlib.util

import pytest

from workflow_runs import PROJECT


@pytest.fixture(scope="module")
def kills():
    """The program of the drill, which is no module of the package."""
    found = importlib.util.spec_from_file_location("kills", PROJECT / "benchmarks" / "kills.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_killed_trainings_find_the_same_model_to_the_bit(kills):
    # A few here; the program itself does twenty.
    whole, *killed = kills.drill(3, n=1500, epochs=12)
    assert whole["resumes"] == 0
    assert all(one["same"] for one in killed)
    assert any(one["killed"] for one in killed)


@pytest.mark.slow
def test_the_drill_notices_another_model(kills, tmp_path):
    (tmp_path / "a").mkdir()
    first, _ = kills.run(tmp_path / "a", 1200, 1)
    (tmp_path / "b").mkdir()
    other, _ = kills.run(tmp_path / "b", 1200, 2)
    assert first["digest"] != other["digest"]
