"""The names that scikit-learn has: understood where they mean the same, else answered with the right one."""

import ast
import importlib
import pickle
import re
import runpy

import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import HalvingGridSearchCV

import shallows
from engine_example import sample
from forms import kernel_ridge_regressor
from shallows import (
    FeatureRidgeRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    RegularizedRiskClassifier,
    kernels,
)
from shallows.errors import ShallowsError
from shallows.estimators.old_names import translate
from shallows.gaussian_process import FeatureGaussianProcessRegressor
from shallows.kernel_approximation import FourierFeatures
from shallows.solvers import EigenPro
from shallows.svm import RandomKitchenSinksRegressor
from workflow_runs import PROJECT

X, new = sample(80, 3), sample(20, 3, seed=1)
y = np.sin(X[:, 0]) + X[:, 1]


@pytest.mark.parametrize(
    ("name", "parameters", "theirs"),
    [
        ("rbf", {"gamma": 0.3}, lambda: rbf_kernel(X, new, gamma=0.3)),
        ("laplacian", {"gamma": 0.3}, lambda: laplacian_kernel(X, new, gamma=0.3)),
        ("poly", {"gamma": 0.3, "coef0": 2, "degree": 4}, lambda: polynomial_kernel(X, new, 4, gamma=0.3, coef0=2)),
        ("linear", {"gamma": 0.3}, lambda: 0.3 * X @ new.T),
    ],
)
def test_a_kernel_of_scikit_learn_s_name_has_scikit_learn_s_values(name, parameters, theirs):
    assert np.allclose(kernels.make(name, **parameters)(X, new), theirs(), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "parameters"), [("rbf", {"gamma": 0.2}), ("poly", {"gamma": 0.1, "degree": 2, "coef0": 1.0})]
)
def test_exact_ridge_regression_is_scikit_learn_s_with_the_same_words(kernel, parameters):
    centred = y - y.mean()
    ours = kernel_ridge_regressor(kernel, kernel_params=parameters, alpha=0.5).fit(X, centred)
    theirs = KernelRidge(kernel=kernel, alpha=0.5, **parameters).fit(X, centred)
    assert np.abs(ours.predict(new) - theirs.predict(new)).max() < 1e-8


@pytest.mark.parametrize("gamma", ["scale", 0.0, np.nan, True, None])
def test_a_gamma_that_is_no_positive_number_is_told(gamma):
    with pytest.raises(ShallowsError, match="gamma must be a positive number"):
        kernels.make("rbf", gamma=gamma)
    with pytest.raises(ShallowsError, match="coef0 is another name of offset"):
        kernels.make("poly", coef0=1.0, offset=1.0)


# ------------------------------------------------------------------------------------ names of parameters


@pytest.mark.parametrize(
    ("Estimator", "options", "message"),
    [
        (KernelRidgeClassifier, {"gamma": 0.125}, r"no parameter 'gamma': use bandwidth .* bandwidth=2 here"),
        (FeatureRidgeRegressor, {"gamma": 0.125}, r"features=FourierFeatures\(bandwidth=...\).* bandwidth=2 here"),
        (FeatureRidgeRegressor, {"n_features": 30}, r"the feature map: features=FourierFeatures\(n_features=30\)"),
        (FeatureRidgeRegressor, {"max_passes": 3}, r"the solver: solver=FeatureBlockDescent\(max_passes=3\)"),
        (FeatureRidgeRegressor, {"step_size": 3.0}, r"the solver: solver=FeatureEigenPro\(step=3.0\)"),
        (RandomKitchenSinksRegressor, {"C": 30}, r"use bound \(the same number\)"),
        (FeatureGaussianProcessRegressor, {"n_features": 30}, r"features=NystroemFeatures\(n_features=30\)"),
        (RandomKitchenSinksRegressor, {"n_units": 30}, r"the feature map: features=HiddenUnits\(n_units=30\)"),
        (FourierFeatures, {"n_components": 10}, "use n_features"),
        (KernelRidgeRegressor, {"max_iter": 10}, r"belongs to the solver: solver=EigenPro\(max_epochs=10\)"),
        (KernelRidgeClassifier, {"solver": "auto", "rank": 3}, r"the solver: solver=EigenPro\(rank=3\)"),
        (KernelRidgeRegressor, {"n_jobs": 2}, "OMP_NUM_THREADS"),
        (KernelRidgeClassifier, {"C": 1}, r"use alpha \(which is 1/\(2 C\)\)"),
        (RegularizedRiskClassifier, {"C": 1}, r"use regularization \(which is 1/\(C n\) for n rows\)"),
        (KernelRidgeClassifier, {"loss": "hinge"}, "^KernelRidgeClassifier has no parameter|^Invalid parameter 'loss'"),
        (
            KernelRidgeRegressor,
            {"solver": "cholesky", "rank": 9},
            "another solver than Cholesky, which has none: solver",
        ),
        (shallows.KernelSVMClassifier, {"cache_size": 200}, r"solver=SMO\(cache='200MB'\)"),
        (KernelRidgeRegressor, {"degree": 2}, r"use kernel \(kernel=Polynomial\(degree=2\)\)"),
    ],
)
def test_a_parameter_of_another_library_is_answered_with_ours(Estimator, options, message):
    with pytest.raises(TypeError, match=message):
        Estimator(**options)
    with pytest.raises(ValueError, match=message):
        Estimator().set_params(**options)


def test_a_parameter_of_a_named_solver_is_a_resource_of_a_search():
    search = HalvingGridSearchCV(
        KernelRidgeRegressor(solver="eigenpro"),
        {"alpha": [0.1, 1.0]},
        resource="solver__max_epochs",
        max_resources=4,
        cv=2,
    )
    assert search.fit(X, y).best_params_["solver__max_epochs"] <= 4
    assert "solver__rank" in KernelRidgeRegressor(solver="eigenpro").get_params()
    assert KernelRidgeRegressor(solver="eigenpro").get_params(deep=False)["solver"] == "eigenpro"


@pytest.mark.parametrize(
    ("Estimator", "remedy"),
    [
        (shallows.KernelSVMClassifier, "CalibratedClassifierCV"),
        (shallows.LinearSVMClassifier, "CalibratedClassifierCV"),
        (KernelRidgeClassifier, "predict_proba is available without it"),
        (RegularizedRiskClassifier, "predict_proba .* loss='logistic'"),
    ],
)
def test_asked_for_probabilities_as_of_svc_a_classifier_says_where_they_are(Estimator, remedy):
    for error, ask in ((TypeError, Estimator), (ValueError, Estimator().set_params)):
        with pytest.raises(error, match=f"has no parameter 'probability': .*{remedy}"):
            ask(probability=True)


MIGRATION = (PROJECT / "docs" / "migration.md").read_text(encoding="utf-8")
ROOMS = ("svm", "decomposition", "kernel_approximation", "solvers", "kernels")
MODULES = [shallows, *(importlib.import_module(f"shallows.{name}") for name in ROOMS)]
CALLS = re.findall(r"^\| `(\w+\(.*?\))` \| `(\w+\(.*\))` \|$", MIGRATION, re.MULTILINE)


@pytest.mark.parametrize(("before", "now"), CALLS, ids=[before for before, _ in CALLS])
def test_the_page_on_migration_shows_the_translated_calls(before, now):
    call = ast.parse(before, mode="eval").body
    text, used = translate(call.func.id, {word.arg: ast.unparse(word.value) for word in call.keywords})
    assert text == now.replace('"', "'")
    public = {name: getattr(module, name) for module in MODULES for name in module.__all__}
    assert used <= public.keys()
    eval(text, public)._check_parameters()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rank": 80}, r"belongs to the solver: solver=\w+\(rank=80\)"),
        ({"regularisation": 0.1}, "use alpha"),
        ({"centres": 5}, "use centers"),
        ({"step_size": 0.1}, r"solver=EigenPro\(step=0.1\)"),
        ({"device": "gpu"}, r"options=shallows.Options\(device='gpu'\)"),
        ({"validation_fraction": 0.2}, r"EarlyStopping\(fraction=0.2\)"),
        ({"kernel_params": {"nu": 2.5}}, "use kernel"),
        ({"solver_params": {}}, "use solver"),
    ],
)
def test_a_parameter_of_an_earlier_version_is_answered_with_its_place(given, words):
    with pytest.raises(TypeError, match=words):
        KernelRidgeRegressor(**given)


def test_a_parameter_of_the_solver_is_answered_with_the_present_solver():
    for solver in ("eigenpro", EigenPro(rank=3)):
        with pytest.raises(ValueError, match=r"belongs to the solver: solver=EigenPro\(rank=80\)"):
            KernelRidgeRegressor(solver=solver).set_params(rank=80)
    with pytest.raises(
        ValueError, match=r"'max_epochs'\. solver='eigenpro' or 'kernel_sgd' or .* has it; set that first"
    ):
        KernelRidgeRegressor().set_params(solver__max_epochs=5)
    with pytest.raises(ValueError, match=r"solver='auto' has no parameter 'rnak'[.]$"):
        KernelRidgeRegressor().set_params(solver__rnak=5)


@pytest.mark.parametrize(
    ("kernel", "given", "words"),
    [
        ("rbf", {"gamma": 0.5}, "bandwidth=1 here"),
        ("laplacian", {"gamma": 0.5}, r"‖x − z‖₁\).*bandwidth=2 here"),
        ("poly", {"gamma": 0.5}, r"use kernel \(kernel=Polynomial\(scale=0.5\)\)[.]$"),
        ("poly", {"degree": 2}, r"use kernel \(kernel=Polynomial\(degree=2\)\)[.]$"),
        ("laplace", {"regularisation": 0.1, "device": "cpu"}, r"The call is now .*kernel='laplace', alpha=0.1, opt"),
        ("matern", {"kernel_params": {"nu": 2.5}}, r"The call is now KernelRidgeRegressor\(kernel=Matern\(nu=2.5\)\)"),
    ],
)
def test_the_kernel_given_by_position_decides_what_other_names_mean(kernel, given, words):
    with pytest.raises(TypeError, match=words):
        KernelRidgeRegressor(kernel, **given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dtype": "float32"}, r"set it for each estimator: options=Options\(dtype='float32'\)"),
        ({"devise": "gpu"}, "Its options are device, memory and verbose"),
    ],
)
def test_a_block_of_options_refuses_other_options(given, words):
    with pytest.raises(TypeError, match=words), shallows.options(**given):
        pass


def test_an_import_of_an_old_name_shows_the_new_calls_of_the_program(tmp_path):
    program = tmp_path / "old.py"
    program.write_text(
        "from shallows import EigenProClassifier\n\n"
        "model = EigenProClassifier(regularisation=0.5)\n"
        "other = EigenProClassifier(rank=80, device='cpu')\n"
    )
    with pytest.raises(ImportError) as raised:
        runpy.run_path(str(program))
    assert str(raised.value).splitlines() == [
        "EigenProClassifier is now KernelRidgeClassifier(solver='eigenpro').",
        "Line 3: EigenProClassifier(regularisation=0.5) is now KernelRidgeClassifier(solver='eigenpro', alpha=0.5).",
        "Line 4: EigenProClassifier(rank=80, device='cpu') is now KernelRidgeClassifier(solver=EigenPro(rank=80), "
        "options=Options(device='cpu')). It needs EigenPro, Options.",
    ]


def test_a_value_by_position_too_many_is_told_the_names():
    with pytest.raises(TypeError, match="KernelRidgeRegressor: kernel may be given by position, got 2 values"):
        KernelRidgeRegressor("gaussian", 1.0)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from shallows.gaussian_process import EigenProRegressor", "EigenProRegressor is now"),
        ("from shallows.estimators import EigenProClassifier", r"is now KernelRidgeClassifier\(solver='eigenpro'\)"),
        ("from shallows.svm import LASVMClassifier", r"LASVMClassifier is now KernelSVMClassifier\(solver='lasvm'\)"),
        ("from shallows.decomposition import Zebra", "module 'shallows.decomposition' has no attribute 'Zebra'"),
        ("import shallows; shallows.AMMClassifier", "Write: from shallows.svm import AMMClassifier"),
        ("import shallows; shallows.datasets", "Write: from shallows_papers"),
        *((f"from shallows import {name}", "Write: from shallows_papers") for name in ("ImageVotes", "cli", "theory")),
    ],
)
def test_an_import_of_an_old_name_shows_what_to_write(statement, message):
    # An attribute that is missing is an AttributeError, so that hasattr works.
    with pytest.raises(ImportError if statement.startswith("from") else AttributeError, match=message):
        exec(statement, {})


def test_an_attribute_of_an_earlier_version_says_where_it_is_now():
    model = KernelRidgeRegressor(random_state=0).fit(X, y)
    with pytest.raises(
        AttributeError, match=r"KernelRidgeRegressor has no attribute 'timings_': it is report_\['timings"
    ):
        model.timings_  # noqa: B018
    with pytest.raises(AttributeError, match="it is report_ now"):
        model.effective_params_  # noqa: B018


def test_a_pickle_of_another_version_says_so():
    with pytest.raises(ModuleNotFoundError, match="another version of shallows wrote the pickle"):
        pickle.loads(b"cshallows.estimators.least_squares.eigenpro\nEigenProClassifier\n.")
    state = {"kernel_params": None, **vars(KernelRidgeRegressor())}
    del state["options"]
    with pytest.raises(ShallowsError, match="wrote this pickle of KernelRidgeRegressor: it has no 'options'"):
        KernelRidgeRegressor().__setstate__(state)
