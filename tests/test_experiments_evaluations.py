"""Records of runs, and measured values: metrics of outputs, and the file between evaluation and tables."""

import math
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics
import yaml

from shallows import arrays
from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing import evaluations
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.running import record
from workflow_runs import PROJECT

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_metrics_of_classes_agree_with_those_of_scikit_learn(n_columns):
    classes = np.array([2, 5, 7][: max(2, n_columns)])
    scores, truth = RNG.normal(size=(60, n_columns)).astype(np.float32), RNG.choice(classes, 60)
    columns = np.hstack([np.zeros_like(scores), scores]) if n_columns == 1 else scores
    p = np.exp(columns.astype(np.float64)) / np.exp(columns.astype(np.float64)).sum(axis=1, keepdims=True)
    given = p[:, 1] if n_columns == 1 else p
    expected = {
        "error": 100.0 * np.mean(classes[columns.argmax(axis=1)] != truth),
        "log_loss": sklearn.metrics.log_loss(truth, p, labels=classes),
        "auc": 100.0
        * np.mean([sklearn.metrics.roc_auc_score(truth == c, s) for c, s in zip(classes, columns.T, strict=True)])
        if n_columns > 1
        else 100.0 * sklearn.metrics.roc_auc_score(truth, given),
    }
    outputs = {"scores": scores, "truth": truth, "classes": classes}
    assert {name: evaluations.compute(name, outputs) for name in evaluations.OF_CLASSES} == pytest.approx(expected)
    with pytest.raises(ShallowsError, match="'rmse' is not for classification"):
        evaluations.compute("rmse", outputs)


def test_metrics_of_values_are_those_of_their_formulas_and_an_analysis_has_none():
    scores, truth = RNG.normal(size=(60, 1)), RNG.normal(size=60)
    off = scores[:, 0] - truth
    expected = {"mae": np.abs(off).mean(), "rmse": np.sqrt((off**2).mean())}
    outputs = {"scores": scores, "truth": truth}
    assert {name: evaluations.compute(name, outputs) for name in evaluations.OF_VALUES} == pytest.approx(expected)
    assert evaluations.compute("mae", {}) is None


def test_the_schema_lists_the_metrics_of_outputs():
    schema = yaml.safe_load((PROJECT / "workflow" / "schemas" / "paper.schema.yaml").read_text())
    target = schema["$defs"]["target"]["properties"]["metrics"]["additionalProperties"]["properties"]
    assert target["from_outputs"]["enum"] == [*evaluations.OF_CLASSES, *evaluations.OF_VALUES]


def test_measured_values_come_back_from_their_file_to_the_bit(tmp_path):
    curve = {"error": {1: 0.1 + 0.2, 2: math.inf, 2.5: 1e-300}, "single": {None: -0.0}}
    result = RunResult("results/x", {"run": {"id": "a"}, "metrics": {"final": {}}}, curve, "epochs")
    evaluations.write(tmp_path / "x.json", {"a": result})
    [found] = evaluations.read(tmp_path / "x.json").values()
    assert repr(found.curve) == repr(curve) and found.along == "epochs"
    assert found.record == {"run": {"id": "a"}}


# Records of runs.


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
    before = arrays.peak_memory()
    block = np.ones(20_000_000)
    block += 1
    assert arrays.peak_memory() >= before + 100_000_000
