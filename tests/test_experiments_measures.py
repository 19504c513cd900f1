"""Measures by what a method returns: predictions, components, correlations; and runs of transformers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from sklearn.base import BaseEstimator
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA

from own_plan import own_configuration
from running_example import job_spec, prepared_example
from shallows.errors import ShallowsError
from shallows_papers.experiments.identity import code
from shallows_papers.experiments.running import measures, record, run
from shallows_papers.experiments.running.measures import Measure
from shallows_papers.experiments.running.measures.components import squared_sine
from shallows_papers.experiments.running.measures.correlations import total_correlation
from workflow_runs import PROJECT

CONDITIONS = run.Conditions(device="cpu")
RNG = np.random.default_rng(0)


class PCABesideAReference(PCA):
    """Linear components that are compared with the first two of the exact ones."""

    def reference_components(self, x):
        return (x - self.mean_) @ self.components_[:2].T


class TwoViews:
    """Canonical correlations as scikit-learn has them, without a prediction."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, x, y):
        self.model = CCA(self.n_components).fit(x, y)
        return self

    def transform(self, x, y):
        return self.model.transform(x, y)


class ComponentByComponent(BaseEstimator):
    """A transformer that is trained: after an epoch its snapshot has one exact component more."""

    def __init__(self, max_epochs=1):
        self.max_epochs = max_epochs

    def fit(self, x, y, observers=(), checkpoint=None):
        self.report_, self.n_resumes_, self.n_rollbacks_ = {"timings": {}}, 0, 0
        for epoch in range(1, self.max_epochs + 1):
            model = PCA(epoch).fit(x)
            here = SimpleNamespace(epoch=epoch, iteration=epoch, seconds=0.0, snapshot=lambda model=model: model)
            for observer in observers[:1]:
                observer.on_epoch(here)
        return self

    def transform(self, x):
        raise NotImplementedError("what is measured are the snapshots")


@pytest.fixture(autouse=True)
def prepared(monkeypatch):
    data = prepared_example(n_train=300, n_features=12, n_classes=2)
    monkeypatch.setattr(run.datasets, "load", lambda folder: data)
    return data


@pytest.fixture
def job(tmp_path):
    def make(call, measure=None, **parameters):
        definition = {"label": "a double", "runs": "plain", "call": {"any": call}}
        definition |= {"measures": measure} if measure else {}
        spec = job_spec("a_double", parameters, definition)
        return run.Job(spec, tmp_path / "prepared", tmp_path / "run", tmp_path / "checkpoints")

    return make


HALVES = slice(0, 6), slice(6, 12)


@pytest.fixture
def two_views(monkeypatch, prepared):
    """The data with their columns in two views of six."""
    first, second = ({part: getattr(prepared, f"x_{part}")[:, half] for part in ("train", "test")} for half in HALVES)
    views = {f"{name}_{part}": view[part] for name, view in (("x", first), ("z", second)) for part in view}
    data = replace(prepared, **views)
    monkeypatch.setattr(run.datasets, "load", lambda folder: data)


def test_a_transformer_runs_and_its_components_are_measured(job, prepared):
    made = run.execute(job("sklearn.decomposition:PCA", n_components=5), CONDITIONS)
    data = prepared
    model = PCA(5).fit(data.x_train)
    values = model.transform(data.x_test)
    off = ((model.inverse_transform(values) - data.x_test) ** 2).sum(axis=1).mean()
    assert made["metrics"]["final"] == {
        "component_variance": pytest.approx(values.var(axis=0).sum(), rel=1e-4),
        "reconstruction_error": pytest.approx(100 * off / data.x_test.var(axis=0).sum(), rel=1e-4),
    }
    record.check(record.read(job("sklearn.decomposition:PCA").out)[0])
    whole = run.execute(job("sklearn.decomposition:PCA", n_components=12), CONDITIONS)
    assert whole["metrics"]["final"]["reconstruction_error"] < 1e-6


def test_snapshots_that_transform_are_measured_at_every_mark(job, prepared):
    one = job(f"{__name__}:ComponentByComponent")
    one.spec["definition"]["runs"], one.spec["marks"] = "estimator", [1, 3, 12]
    made = run.execute(one, CONDITIONS)
    rows = made["metrics"]["marks"]
    assert [row["epoch"] for row in rows] == [1, 3, 12]
    errors = [row["reconstruction_error"] for row in rows]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-6
    assert rows[-1]["component_variance"] == pytest.approx(prepared.x_test.var(axis=0).sum(), rel=1e-4)
    assert {row["metric"] for row in record.read(one.out)[1]} == {"component_variance", "reconstruction_error"}


def test_components_are_held_against_a_reference_where_the_model_has_one(job):
    call = f"{__name__}:PCABesideAReference"
    assert run.execute(job(call, n_components=2), CONDITIONS)["metrics"]["final"]["squared_sine"] < 1e-9


@pytest.mark.usefixtures("two_views")
def test_a_model_of_two_views_is_fitted_on_both_and_its_total_correlation_measured(job, prepared):
    made = run.execute(job(f"{__name__}:TwoViews", n_components=3), CONDITIONS)
    data = prepared
    model = CCA(3).fit(data.x_train[:, :6], data.x_train[:, 6:])
    left, right = model.transform(data.x_test[:, :6], data.x_test[:, 6:])
    found = made["metrics"]["final"]
    assert set(found) == {"total_correlation", "fit_seconds"} and found["fit_seconds"] > 0
    assert found["total_correlation"] == pytest.approx(total_correlation(left, right))
    # Whitening together can only find more than the pairs as they come.
    pairs = sum(abs(np.corrcoef(left[:, i], right[:, i])[0, 1]) for i in range(3))
    assert pairs - 1e-9 <= found["total_correlation"] <= 3


@pytest.mark.usefixtures("two_views")
def test_a_measure_that_a_method_names_goes_before_what_its_estimator_offers(job):
    assert hasattr(CCA(), "predict")
    made = run.execute(job("sklearn.cross_decomposition:CCA", "correlations", n_components=2), CONDITIONS)
    assert set(made["metrics"]["final"]) == {"total_correlation", "fit_seconds"}


def test_what_cannot_be_measured_is_refused(job):
    with pytest.raises(ShallowsError, match="object neither predicts nor transforms"):
        measures.default_for(object())
    with pytest.raises(ShallowsError, match="Did you mean 'correlations'"):
        run.execute(job("sklearn.decomposition:PCA", "correlation", n_components=2), CONDITIONS)
    with pytest.raises(ShallowsError, match="two views, or targets that are values"):
        run.execute(job(f"{__name__}:TwoViews", n_components=2), CONDITIONS)


def test_the_schema_knows_the_measures_of_the_registry_and_the_configuration_uses_no_others():
    schema = yaml.safe_load((PROJECT / "workflow" / "schemas" / "methods.schema.yaml").read_text())
    known = schema["properties"]["methods"]["additionalProperties"]["properties"]["measures"]["enum"]
    assert sorted(known) == sorted(measures.MEASURES)
    assert all(issubclass(measures.MEASURES[name], Measure) for name in known)
    methods = own_configuration().methods.values()
    assert {one["measures"] for one in methods if "measures" in one} <= set(known)


def test_timed_predictions_are_predictions_and_the_seconds_of_the_fit():
    data, model = prepared_example(50, 3, 2), SimpleNamespace(predict=lambda x: np.zeros(len(x)))
    plain, timed = (measures.make(name, data) for name in ("predictions", "timed_predictions"))
    assert (type(plain).__name__, type(timed).__name__) == ("Predictions", "TimedPredictions")
    assert (plain.times_fit, timed.times_fit) == (False, True)
    assert plain.of_estimator(model) == timed.of_estimator(model)


def test_a_run_depends_on_its_own_measure_and_on_no_other():
    methods = own_configuration().methods

    def behind(definition):
        found = code.files_of_run({"call": {}, **definition}, {})
        return {name.rpartition(".")[2] for name in found if ".measures." in name} - {"base"}

    assert behind(methods["doubly_stochastic"]) == {"sampled"}
    assert behind(methods["eigenpro"]) == {"predictions"}
    assert behind(methods["step_rules"]) == set()
    # Where none is named, any of them may be chosen.
    assert behind({"runs": "plain"}) == {"components", "correlations", "predictions"}
    trained = [name for name, one in methods.items() if one["runs"] != "analysis" and "measures" not in one]
    assert not trained


# The numbers themselves


def test_the_angle_is_that_between_two_planes():
    turn = 0.3
    first, second, third = np.linalg.qr(RNG.normal(size=(40, 3)))[0].T
    plane = np.stack([first, second], axis=1) @ RNG.normal(size=(2, 2))
    turned = np.stack([first, np.cos(turn) * second + np.sin(turn) * third], axis=1)
    assert squared_sine(plane, turned) == pytest.approx(np.sin(turn) ** 2)
    assert squared_sine(plane, plane @ RNG.normal(size=(2, 2))) == pytest.approx(0, abs=1e-12)
    assert squared_sine(first[:, None], turned) == 1.0  # a line does not hold a plane


def test_the_total_correlation_is_that_of_the_covariances():
    left = RNG.normal(size=(500, 3))
    right = 0.6 * left @ RNG.normal(size=(3, 3)) + RNG.normal(size=(500, 3))
    a, b = left - left.mean(axis=0), right - right.mean(axis=0)

    def inverse_root(matrix):
        values, vectors = np.linalg.eigh(matrix)
        return vectors @ np.diag(values**-0.5) @ vectors.T

    whole = inverse_root(a.T @ a) @ (a.T @ b) @ inverse_root(b.T @ b)
    expected = np.linalg.svd(whole, compute_uv=False).sum()
    assert total_correlation(left, right) == pytest.approx(expected)
    mixed = 5 + left @ RNG.normal(size=(3, 3))
    assert total_correlation(mixed, right) == pytest.approx(expected)
    assert total_correlation(left, left) == pytest.approx(3)


def test_relative_errors_are_in_percent_of_the_size_of_the_targets_as_they_are():
    y = np.array([3.0, 4.0, 0.0])
    data = SimpleNamespace(x_test=np.zeros((3, 1)), y_test=y, info={"task": "regression"})
    model = SimpleNamespace(predict=lambda x: np.array([3.3, 4.4, 0.0]))
    found = measures.make("relative_errors", data).of_estimator(model)
    assert found["relative_error"] == pytest.approx(10.0)  # ‖(0.3, 0.4, 0)‖ / ‖(3, 4, 0)‖
    assert found["test_rmse"] == pytest.approx(np.sqrt(0.25 / 3))


@pytest.mark.parametrize(("task", "problem"), [("classification", "regression"), ("regression", "are 0")])
def test_relative_errors_need_values_and_some_that_are_not_zero(task, problem):
    data = SimpleNamespace(x_test=np.zeros((2, 1)), y_test=np.zeros(2), info={"task": task})
    with pytest.raises(ShallowsError, match=problem):
        measures.make("relative_errors", data).of_estimator(SimpleNamespace(predict=lambda x: np.ones(2)))
