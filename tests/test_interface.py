"""Options, early stopping, and the parameters of solvers and kernels by their paths."""

import dataclasses
import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone

import shallows
from shallows import EarlyStopping, Options
from shallows.errors import ShallowsError
from shallows.kernels import Gaussian, Matern
from shallows.solvers import settings
from shallows.solvers.settings import setting
from shallows.utils import frozen

X = np.linspace(0.0, 1.0, 30)[:, None]
Y = np.sin(5.0 * X[:, 0])


def test_a_block_sets_options_except_where_an_estimator_has_its_own():
    with shallows.options(memory="2GB", verbose=1), shallows.options(memory="3GB"):
        assert Options().in_block() == Options(memory="3GB", verbose=1)
        assert Options(memory="1GB").in_block().memory == "1GB"
    assert Options().in_block() == Options()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (shallows.LinearSVMClassifier(), "runs on the CPU only"),
        (shallows.KernelSVMClassifier(solver="lasvm"), "Solvers for device='gpu': 'smo'"),
    ],
)
def test_a_block_with_a_gpu_is_refused_by_a_solver_without_a_gpu_form(model, message):
    with shallows.options(device="gpu"):
        with pytest.raises(ShallowsError, match=message):
            model.fit(X, Y > 0)
        clone(model).set_params(options=Options(device="cpu")).fit(X, Y > 0)


def test_a_block_is_for_its_thread():
    found = []
    with shallows.options(memory="2GB"):
        thread = threading.Thread(target=lambda: found.append(Options().in_block()))
        thread.start()
        thread.join()
    assert found == [Options()]


@pytest.mark.parametrize(
    "wrong",
    [
        *(Options(device="tpu"), Options(memory="much"), Options(dtype="half"), Options(max_seconds=0)),
        *(Options(memory=True), Options(memory=-1), Options(verbose=-1)),
        *(
            EarlyStopping(fraction=0.0),
            EarlyStopping(fraction=1),
            EarlyStopping(patience=0),
            EarlyStopping(patience=1.5),
        ),
    ],
    ids=str,
)
def test_a_value_out_of_range_is_refused_by_name(wrong):
    name = next(item.name for item in dataclasses.fields(wrong) if getattr(wrong, item.name) != item.default)
    with pytest.raises(ShallowsError, match="size in bytes" if name == "memory" else name):
        wrong.check() if isinstance(wrong, Options) else EarlyStopping.of(wrong)


def test_early_stopping_is_true_false_or_an_object():
    assert EarlyStopping.of(False) is None
    assert EarlyStopping.of(True) == EarlyStopping(0.1, 3)
    with pytest.raises(ShallowsError, match="early_stopping must be True"):
        EarlyStopping.of("yes")


def test_parameters_of_a_kernel_have_paths():
    model = shallows.KernelRidgeRegressor(kernel=Matern(2.0, nu=2.5))
    assert model.get_params()["kernel__nu"] == 2.5
    assert model.set_params(kernel__nu=0.5).kernel == Matern(2.0, nu=0.5)
    assert model.set_params(kernel="gaussian", kernel__bandwidth=3.0).kernel == Gaussian(3.0)
    assert clone(model).kernel == pickle.loads(pickle.dumps(model)).kernel == Gaussian(3.0)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("kernel__width", "Gaussian has no parameter 'width'"),
        ("alpha_beta__x", "no parameter 'alpha_beta'"),
        ("bandwidth__x", "bandwidth='auto' has no parameter 'x'"),
    ],
)
def test_a_wrong_path_is_refused(path, message):
    with pytest.raises(ValueError, match=message):
        shallows.KernelRidgeRegressor().set_params(**{path: 1.0})


@dataclasses.dataclass(frozen=True)
class Rule(settings.Checked):
    decrease: float = setting(settings.positive(0.5))


@dataclasses.dataclass(frozen=True)
class Stepping(settings.Settings):
    steps: str | Rule = setting(settings.object_or_name({"rule": Rule}, "constant"))  # noqa: RUF009
    size: int | None = setting(settings.count())


def test_a_setting_is_a_name_or_an_object_whose_parameters_have_paths():
    assert settings.chosen(Stepping(steps="rule"), "steps") == Rule()
    assert settings.chosen(Stepping(), "steps") == "constant"
    changed = frozen.with_parameters(Stepping(), {"steps__decrease": 2.0, "steps": "rule"})
    assert changed == Stepping(steps=Rule(2.0))
    for wrong, message in (
        (Stepping(steps="rules"), "steps must be one of 'constant', Rule"),
        (Stepping(Rule(0)), "decr"),
    ):
        with pytest.raises(ShallowsError, match=message):
            settings.resolve(wrong, {"stepping": Stepping}, "Machine")
