"""Measured values of runs: metrics of the outputs of trained models, and the file between evaluation and tables."""

import math

import numpy as np
import pytest
import sklearn.metrics
import yaml

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing import evaluations
from shallows_papers.experiments.comparing.evaluations import RunResult
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
