from pathlib import Path

import numpy as np
import pytest

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing import evaluations
from shallows_papers.experiments.running import record


def test_a_record_names_the_card_that_was_used(monkeypatch):
    monkeypatch.setattr("shallows.arrays.gpu_name", lambda index: f"card {index}")
    record.hardware.cache_clear()
    named = {device: record.provenance(device)["hardware"]["gpu"] for device in ("cpu", "auto", "gpu", "gpu:1")}
    record.hardware.cache_clear()
    assert named == {"cpu": "card 0", "auto": "card 0", "gpu": "card 0", "gpu:1": "card 1"}


@pytest.mark.parametrize(
    ("edited", "says"),
    [
        ("{", r"results/x/record.json is not valid JSON: .*Delete it"),
        (
            f'{{"schema_version": {record.SCHEMA_VERSION}}}',
            r"results/x does not agree.*is a required property.*Delete it",
        ),
    ],
)
def test_a_record_that_was_edited_is_refused_with_its_place_and_what_to_do(edited, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Path("results/x")
    place.mkdir(parents=True)
    (place / "record.json").write_text(edited)
    (place / "curve.csv").write_text("metric,value\n")
    with pytest.raises(ShallowsError, match=says):
        evaluations.evaluate([place / "record.json"])


def test_a_record_of_another_version_is_told_as_such():
    with pytest.raises(ShallowsError, match=r"results/demo/x was written by another version.*results=\.\.\."):
        record.check({"schema_version": record.SCHEMA_VERSION - 1}, "results/demo/x")


def test_peak_memory_is_that_since_the_reset():
    record.reset_peak_memory()
    before = record.peak_memory()
    block = np.ones(20_000_000)
    block += 1
    assert record.peak_memory() >= before + 100_000_000
