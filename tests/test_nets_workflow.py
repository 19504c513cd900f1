"""Neural nets in the workflow: what needs them, and their features as prepared data."""

import importlib.util
import os
from dataclasses import replace

import numpy as np
import pytest

from datasets_example import write_table
from nets_example import bars, needs_torch, one_thread  # noqa: F401
from own_plan import own_configuration, small_plan
from shallows.errors import UnknownNameError
from shallows_papers import datasets
from shallows_papers.datasets import DatasetError, identity
from shallows_papers.experiments.identity import code, project_modules
from shallows_papers.experiments.planning import configuration
from shallows_papers.nets import ARCHITECTURES, NeuralNetClassifier

# In the workflow


@pytest.fixture
def without_torch(monkeypatch):
    """As if PyTorch were not installed."""
    found = importlib.util.find_spec
    absent = {"torch": None}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: absent[name] if name in absent else found(name))


def test_what_needs_a_net_is_not_run_without_pytorch_and_says_so(without_torch):
    made = planned()
    assert {run.method for run in made.runs("demo").values()} == {"kernel_sgd"}
    told = made.comparison("first", "demo")
    reason = "needs the optional packages of the extra 'nets': pip install 'shallows[nets]'"
    assert told["missing"] == {"Features": reason}
    assert told["left_out"] == f"joint net {reason}"


def test_what_needs_a_net_is_run_where_jobs_have_environments_of_their_own(without_torch):
    made = replace(planned(), deployed=True)
    assert {(run.method, made.extra_of_run(run)) for run in made.runs("demo").values()} == {
        ("kernel_sgd", None),
        ("neural_net", "nets"),
    }


def test_what_needs_a_net_is_run_where_pytorch_is(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    made = planned()
    runs = {(run.method, run.variant) for run in made.runs("demo").values()}
    assert runs == {(m, v) for m in ("kernel_sgd", "neural_net") for v in ("unit", "lenet_features")}
    assert made.size("mnist_demo", "lenet_features").n_features == 1568
    assert made.comparison("first", "demo")["left_out"] == ""


def planned(features="lenet_features", base=None):
    """The plan of a target with a net among its methods and a net's features among its data."""

    def change(paper):
        del paper["targets"]["second"]
        target = paper["targets"]["first"]
        target["settings"], target["layout"] = {}, {"rows": ["data"], "columns": ["metric"]}
        net = {"method": "neural_net", "parameters": {"architecture": "top_layers"}}
        target["methods"] = {"joint net": net, "kernel": {"method": "kernel_sgd"}}
        data = {"Digits": {"dataset": "mnist_demo", "variant": "unit"}}
        data["Features"] = {**data["Digits"], "variant": features}
        at = {"seeds": [0], "data": data, "runs": [{"marks": [1]}]}
        target["scales"] = dict.fromkeys(configuration.SCALES, at)

    return small_plan(change, base)


def test_results_of_nets_alone_depend_on_the_code_of_nets():
    def of_nets(call):
        return {name for name in project_modules.SHALLOWS.closure([call]) if name.startswith("shallows_papers.nets")}

    assert of_nets("shallows_papers.nets:NeuralNetClassifier") and not of_nets("shallows:KernelRidgeClassifier")
    digits = datasets.get("mnist_demo")
    assert code.digest_of_preparation(digits, [{"unit": {}}, STEP]) != code.digest_of_preparation(
        digits, [{"unit": {}}]
    )


def test_what_stands_after_features_of_a_net_depends_on_the_code_of_nets_and_needs_pytorch(without_torch):
    base = own_configuration()
    later = {"title": "", "after": "lenet_features", "steps": [{"pca": {"n_components": 5}}]}
    made = replace(base, variants={**base.variants, "later": later})
    digits, names = datasets.get("mnist_demo"), ("later", "lenet_features", "unit")
    found = [project_modules.SHALLOWS.closure(identity.modules_of(digits, made.steps_of(name))) for name in names]
    assert ["shallows_papers.nets.descent" in modules for modules in found] == [True, True, False]
    assert "extra 'nets'" in planned("later", made).comparison("first", "demo")["missing"]["Features"]


# Features as prepared data


def features_of(tmp_path, steps, name="out", **changes):
    x, y = bars(90)
    entry = write_table(tmp_path / "files", x[:60], y[:60], x[60:], y[60:], **changes)
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    datasets.prepare(entry, stamp, tmp_path / name, steps)
    return datasets.load(tmp_path / name)


STEP = {"net_features": {"architecture": "lenet", "epochs": 2, "seed": 4}}


@needs_torch
def test_prepared_features_are_the_transform_of_a_net_trained_on_the_training_part(tmp_path):
    data = features_of(tmp_path, [STEP])
    n_features = ARCHITECTURES["lenet"].n_features((1, 8, 8))
    assert data.x_train.shape == (60, n_features) == (60, 2 * 2 * 32)
    assert data.x_test.shape == (30, n_features)
    x, y = bars(90)
    net = NeuralNetClassifier("lenet", max_epochs=2, random_state=4).fit(x[:60], y[:60])
    np.testing.assert_allclose(data.x_train, net.transform(x[:60]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(data.x_test, net.transform(x[60:]), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(data.y_train, y[:60])


@needs_torch
def test_the_record_says_which_net_made_the_features(tmp_path):
    info = features_of(tmp_path, [{"split": {"n": 10}}, STEP]).info
    (_, told) = info["statistics"]
    told = told["net_features"]
    assert (told["architecture"], told["epochs"], told["seed"], told["trained_on_rows"]) == ("lenet", 2, 4, 50)
    assert told["input_shape"] == [1, 8, 8]
    assert told["source"] == ARCHITECTURES["lenet"].source
    assert 0 <= told["train_error"] <= 100
    assert len(told["weights_sha256"]) == 64
    assert told["torch"] and told["device"] and told["threads"] == 1
    assert info["n_features"] == 128


@needs_torch
def test_the_fixed_net_is_the_top_layers_on_prepared_features(tmp_path):
    data = features_of(tmp_path, [STEP])
    fixed = NeuralNetClassifier("top_layers", max_epochs=2, batch_size=16, random_state=0)
    fixed.fit(data.x_train, data.y_train)
    assert fixed.report_["n_weights"] == 128 * (128 + 1) + 2 * (128 + 1)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"architecture": "lenett"}, UnknownNameError, "Did you mean 'lenet'"),
        ({}, DatasetError, "needs architecture"),
        ({"architecture": "lenet", "epochs": 0}, DatasetError, "epochs must be a positive whole number"),
        ({"architecture": "lenet", "rows": 1.5}, DatasetError, "rows must be a positive whole number or null"),
        ({"architecture": "lenet", "seed": -1}, DatasetError, "seed must be"),
    ],
)
def test_a_wrong_step_is_told_before_anything_is_read(parameters, error, message):
    with pytest.raises(error, match=message):
        datasets.check_steps([{"net_features": parameters}])


@needs_torch
def test_a_workflow_s_run_trains_a_net_to_its_marks(tmp_path):
    from shallows_papers.experiments.running import run

    features_of(tmp_path, [{"subset": {"n_train": 40}}])
    job = run.Job(
        spec={
            "id": "net",
            "scale": "demo",
            "dataset": "table",
            "variant": "out",
            "method": "neural_net",
            "definition": {"runs": "estimator", "call": {"classification": "shallows_papers.nets:NeuralNetClassifier"}},
            "code": "some code",
            "parameters": {"architecture": "lenet", "batch_size": 16},
            "marks": [1, 2],
            "seed": 0,
            "target_ids": [],
        },
        prepared=tmp_path / "out",
        out=tmp_path / "run",
        checkpoints=tmp_path / "checkpoints",
    )
    record = run.execute(job, run.Conditions(device="cpu"))
    assert [row["epoch"] for row in record["metrics"]["marks"]] == [1, 2]
    assert set(record["metrics"]["final"]) >= {"train_error", "test_error", "test_l2"}
    assert record["effective"]["architecture"] == "lenet"
    assert os.path.exists(tmp_path / "run" / "record.json")
