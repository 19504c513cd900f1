"""The names that scikit-learn has: understood where they mean the same, else answered with the right one."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

import shallows
from engine_example import sample
from shallows import (
    EigenProClassifier,
    EigenProRegressor,
    FeatureRidgeRegressor,
    FourierFeatures,
    KernelRidgeRegressor,
    KernelSGDRegressor,
    NystroemFeatures,
    RandomKitchenSinksRegressor,
    RegularizedRiskClassifier,
    kernels,
    spectrum,
)
from shallows.errors import ShallowsError, UnknownNameError

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


@pytest.mark.parametrize("Estimator", [EigenProRegressor, KernelSGDRegressor])
def test_rbf_is_the_gaussian_kernel_and_gamma_its_bandwidth(Estimator):
    theirs = Estimator("rbf", kernel_params={"gamma": 0.125}, random_state=0).fit(X, y)
    ours = Estimator("gaussian", bandwidth=2.0, random_state=0).fit(X, y)
    assert theirs.bandwidth_ == 2.0
    assert np.array_equal(theirs.predict(new), ours.predict(new))
    assert theirs.effective_params_["kernel"] == "gaussian"


def test_rbf_without_gamma_has_the_bandwidth_of_the_data():
    assert EigenProRegressor("rbf", random_state=0).fit(X, y).bandwidth_ == (
        EigenProRegressor(random_state=0).fit(X, y).bandwidth_
    )
    assert FourierFeatures("rbf", random_state=0).fit(X).bandwidth_ == FourierFeatures(random_state=0).fit(X).bandwidth_


@pytest.mark.parametrize(
    ("kernel", "parameters"), [("rbf", {"gamma": 0.2}), ("poly", {"gamma": 0.1, "degree": 2, "coef0": 1.0})]
)
def test_exact_ridge_regression_is_scikit_learn_s_with_the_same_words(kernel, parameters):
    centred = y - y.mean()
    ours = KernelRidgeRegressor(kernel, kernel_params=parameters, regularisation=0.5).fit(X, centred)
    theirs = KernelRidge(kernel=kernel, alpha=0.5, **parameters).fit(X, centred)
    assert np.abs(ours.predict(new) - theirs.predict(new)).max() < 1e-8


def test_a_grid_search_goes_over_gamma():
    grid = {"kernel_params": [{"gamma": gamma} for gamma in (1e-6, 0.2, 1e4)]}
    assert GridSearchCV(KernelRidgeRegressor("rbf"), grid).fit(X, y).best_params_ == {"kernel_params": {"gamma": 0.2}}


@pytest.mark.parametrize(
    "Estimator",
    [EigenProRegressor],
    ids=lambda e: e.__name__,
)
def test_bandwidth_and_gamma_are_not_both_given(Estimator):
    model = Estimator("rbf", bandwidth=1.0, kernel_params={"gamma": 0.1})
    with pytest.raises(ShallowsError, match=r"bandwidth=1.0 and gamma=0.1 .* 1/√\(2·gamma\), here 2.23607"):
        model.fit(X, y)


@pytest.mark.parametrize("gamma", ["scale", 0.0, -1.0, np.nan, True, None])
def test_a_gamma_that_is_no_positive_number_is_told(gamma):
    with pytest.raises(ShallowsError, match="gamma must be a positive number"):
        EigenProRegressor("rbf", kernel_params={"gamma": gamma}).fit(X, y)


def test_two_names_of_one_parameter_are_told():
    with pytest.raises(ShallowsError, match="coef0 is another name of offset"):
        EigenProRegressor("poly", kernel_params={"coef0": 1.0, "offset": 1.0}).fit(X, y)


def test_a_kernel_without_gamma_says_what_it_has():
    with pytest.raises(ShallowsError, match="'cauchy' has no parameter 'gamma'; it has none but the bandwidth"):
        EigenProRegressor("cauchy", kernel_params={"gamma": 1.0}).fit(X, y)


def test_a_preconditioner_goes_with_the_names_of_scikit_learn():
    made = spectrum.fit_preconditioner(X, "gaussian", bandwidth=2.0, rank=5, n_subsample=60, dtype="float64")
    for options in ({"kernel": "rbf", "kernel_params": {"gamma": 0.125}}, {"kernel": "rbf"}):
        assert EigenProRegressor(preconditioner=made, **options).fit(X, y).bandwidth_ == 2.0


# ------------------------------------------------------------------------------------ names of parameters


@pytest.mark.parametrize(
    ("Estimator", "options", "message"),
    [
        (EigenProClassifier, {"gamma": 0.125}, r"no parameter 'gamma': use bandwidth .* bandwidth=2 here"),
        (FeatureRidgeRegressor, {"gamma": 0.125}, r"features=FourierFeatures\(bandwidth=...\).* bandwidth=2 here"),
        (FeatureRidgeRegressor, {"n_features": 30}, r"the feature map: features=FourierFeatures\(n_features=30\)"),
        (FeatureRidgeRegressor, {"max_passes": 3}, r"the solver: solver=FeatureBlockDescent\(max_passes=3\)"),
        (FeatureRidgeRegressor, {"step_size": 3.0}, r"the solver: solver=FeatureEigenPro\(step=3.0\)"),
        (RandomKitchenSinksRegressor, {"n_units": 30}, r"the feature map: features=HiddenUnits\(n_units=30\)"),
        (FourierFeatures, {"n_components": 10}, "use n_features"),
        (EigenProRegressor, {"max_iter": 10}, "use max_epochs"),
        (EigenProRegressor, {"n_jobs": 2}, "OMP_NUM_THREADS"),
        (EigenProRegressor, {"degree": 2}, r"use kernel \(kernel=Polynomial\(degree=3\)\)"),
    ],
)
def test_a_parameter_of_another_library_is_answered_with_ours(Estimator, options, message):
    with pytest.raises(TypeError, match=message):
        Estimator(**options)
    with pytest.raises(ValueError, match=message):
        Estimator().set_params(**options)


def test_the_signature_of_an_estimator_is_that_of_its_constructor():
    shown = inspect.signature(EigenProClassifier).parameters
    assert list(shown) == list(inspect.signature(EigenProClassifier.__init__).parameters)[1:]
    assert shown["kernel"].default == "gaussian"


def test_other_wrong_names_are_told_as_ever():
    with pytest.raises(TypeError, match=r"EigenProClassifier has no parameter 'bandwith'\. Did you mean 'bandwidth'\?"):
        EigenProClassifier(bandwith=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'bandwith'"):
        EigenProClassifier().set_params(bandwith=1.0)
    with pytest.raises(UnknownNameError, match=r"no kernel 'sigmoid'\. Known: .*laplacian, .*poly, .*rbf\."):
        EigenProClassifier("sigmoid").fit(X, y > 0)


@pytest.mark.parametrize("name", sorted(shallows.estimators.__all__))
def test_estimators_are_made_copied_and_pickled_as_ever(name):
    known = getattr(shallows, name)().get_params()
    model = getattr(shallows, name)(**({"random_state": 3} if "random_state" in known else {}))
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert str(copy) == str(model)


@pytest.mark.parametrize("kind", [shallows.EigenProClassifier])
def test_a_bandwidth_among_the_kernel_parameters_is_told_where_it_belongs(kind):
    X = np.random.default_rng(0).random((40, 3))
    with pytest.raises(ShallowsError, match="not in kernel_params"):
        kind(kernel_params={"bandwidth": 2.0}).fit(X, X[:, 0] > 0.5)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("rbff", "rbf"), ("RBF", "rbf"), ("Poly", "poly"), ("laplacien", "laplacian"), ("gausian", "gaussian")],
)
@pytest.mark.parametrize("Estimator", [EigenProRegressor, NystroemFeatures])
def test_a_misspelt_kernel_is_answered_with_the_nearest_name_also_of_scikit_learn(Estimator, name, nearest):
    with pytest.raises(UnknownNameError, match=f"no kernel '{name}'. Did you mean '{nearest}'"):
        Estimator(name).fit(X, y)


@pytest.mark.parametrize(
    ("Estimator", "remedy"),
    [
        (shallows.KernelSVMClassifier, "CalibratedClassifierCV"),
        (shallows.LinearSVMClassifier, "CalibratedClassifierCV"),
        (EigenProClassifier, "predict_proba is available without it"),
        (RegularizedRiskClassifier, "predict_proba .* loss='logistic'"),
    ],
)
def test_asked_for_probabilities_as_of_svc_a_classifier_says_where_they_are(Estimator, remedy):
    for error, ask in ((TypeError, Estimator), (ValueError, Estimator().set_params)):
        with pytest.raises(error, match=f"has no parameter 'probability': .*{remedy}"):
            ask(probability=True)


@pytest.mark.parametrize(
    "name", ["ImageVotes", "cli", "datasets", "experiments", "nets", "reference", "report", "theory"]
)
def test_a_name_that_moved_to_the_reproduction_is_answered_with_its_new_import(name):
    with pytest.raises(ImportError, match="Write: from shallows_papers"):
        getattr(shallows, name)
    with pytest.raises(ImportError, match="Write: from shallows_papers"):
        exec(f"from shallows import {name}", {})
