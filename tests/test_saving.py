"""Saved models of every estimator: they predict the same to the bit, and a file that is none is refused."""

from __future__ import annotations

import dataclasses
import functools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

import shallows
from bad_input_example import few
from engine_example import sample
from shallows import (
    DoublyStochasticNoveltyDetector,
    DoublyStochasticRegressor,
    EigenProCentresRegressor,
    EigenProClassifier,
    EigenProRegressor,
    FeatureEigenProClassifier,
    FeatureEigenProRegressor,
    FourierFeatures,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    KernelSGDRegressor,
    NystroemFeatures,
    RegularisedRiskClassifier,
    RegularisedRiskRegressor,
    arrays,
    features,
    kernels,
    losses,
    spectrum,
)
from shallows.errors import MissingExtraError, ShallowsError
from shallows.estimators import archive
from shallows.saving import encoding
from shallows_papers.nets import NeuralNetClassifier
from shallows_papers.nets.inputs import Coding

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, NEW = sample(120, 3), sample(40, 3, seed=1)
VALUES = np.sin(2 * X[:, 0]) + X[:, 1]
WORDS = np.array(["low", "middle", "high"], dtype=object)[np.digitize(VALUES, [-0.7, 0.7])]
SEVERAL = (X > 0).astype(int)


def unfitted(name):
    Estimator = getattr(shallows, name)
    known = Estimator().get_params()
    options = {"random_state": 0, "max_epochs": 3, "n_features": 40, "n_units": 40, "block_size": 8, **few(Estimator)}
    return Estimator(**{key: value for key, value in options.items() if key in known})


def outputs(model, new=NEW):
    for method in ("predict_proba", "decision_function", "score_samples", "predict", "transform"):
        if hasattr(model, method):
            try:
                made = getattr(model, method)(new)
                return made.toarray() if scipy.sparse.issparse(made) else made
            except ShallowsError:  # a loss of margins has no probabilities
                continue
    raise AssertionError(model)


def targets(model):
    return WORDS if type(model).__name__.endswith("Classifier") else VALUES


def is_the_same(first, second, new=NEW):
    made, again = outputs(first, new), outputs(second, new)
    return made.dtype == again.dtype and np.array_equal(made, again)


MODELS = {
    name: (lambda name=name: unfitted(name).fit(X, targets(unfitted(name)))) for name in shallows.estimators.__all__
} | {
    "many rows": lambda: EigenProRegressor(random_state=0, max_epochs=2).fit(sample(1100, 3), sample(1100, 1)[:, 0]),
    "early stopping": lambda: EigenProClassifier(early_stopping=True, random_state=0).fit(X, WORDS),
    "several outputs": lambda: EigenProRegressor(random_state=0).fit(X, X[:, :2] * 1e6),
    "several labels": lambda: KernelRidgeClassifier(random_state=0).fit(X, SEVERAL),
    "numbers for classes": lambda: RegularisedRiskClassifier(solver="pegasos", random_state=0).fit(X, VALUES > 0),
    "weights of classes": lambda: EigenProClassifier(class_weight={"low": 2.0}, random_state=0).fit(X, WORDS),
    "a table": lambda: EigenProRegressor(random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"]), VALUES),
    "matern": lambda: KernelSGDRegressor("matern", kernel_params={"nu": 0.7}, random_state=0).fit(X, VALUES),
    "a kernel object": lambda: RegularisedRiskRegressor(kernels.Cauchy(1.3), random_state=0).fit(X, VALUES),
    "rbf": lambda: EigenProRegressor("rbf", kernel_params={"gamma": 0.3}, random_state=0).fit(X, VALUES),
    "a loss object": lambda: RegularisedRiskRegressor(loss=losses.Huber(0.3), random_state=0).fit(X, VALUES),
    "centres": lambda: EigenProCentresRegressor(centres=X[:30], random_state=0).fit(X, VALUES),
    "constant columns": lambda: EigenProRegressor(random_state=0).fit(np.hstack([X, X * 0 + 3]), VALUES),
    "rbf features": lambda: FeatureEigenProClassifier("rbf_kmeans", n_features=20, random_state=0).fit(X, WORDS),
    "nystrom": lambda: FeatureEigenProRegressor("nystrom", n_features=20, random_state=0).fit(X, VALUES),
    "linear": lambda: RegularisedRiskClassifier(features="linear", solver="svrg", random_state=0).fit(X, WORDS),
    "orthogonal": lambda: RegularisedRiskClassifier(
        solver="pegasos", features="orthogonal", n_features=31, random_state=0
    ).fit(X, WORDS),
    "wide": lambda: FeatureEigenProRegressor(n_features=2300, max_epochs=2, random_state=0).fit(X, VALUES),
    "a map": lambda: FeatureEigenProRegressor(features.Linear(3), random_state=0).fit(X, VALUES),
    "a step rule": lambda: EigenProRegressor(step_rule={"certified": {"noise": 0.3}}, random_state=0).fit(X, VALUES),
    "a preconditioner": lambda: EigenProRegressor(
        preconditioner=spectrum.fit_preconditioner(X, bandwidth=2.0, rank=5, n_subsample=60, dtype="float64")
    ).fit(X, VALUES),
    "a cap without bound": lambda: DoublyStochasticRegressor(method="cdsg", cap=np.inf, random_state=0).fit(X, VALUES),
    "re-use": lambda: DoublyStochasticNoveltyDetector(method="udsg", random_state=0).fit(X),
    "a generator": lambda: EigenProRegressor(random_state=np.random.RandomState(3)).fit(X, VALUES),
    "k-means": lambda: NystroemFeatures("polynomial", landmarks="kmeans", n_features=9, random_state=0).fit(X),
    "cosines": lambda: FourierFeatures("laplace", form="cosine", n_features=9, random_state=0).fit(X.astype("f4")),
}


@functools.cache
def fitted(name):
    """A model that several tests only read."""
    return MODELS[name]()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_with_equal_predictions_to_the_bit(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.npz"
    new = NEW if model.n_features_in_ == 3 else np.hstack([NEW, NEW])
    if hasattr(model, "feature_names_in_"):
        new = pd.DataFrame(new, columns=["a", "b", "c"])
    shallows.save(model, path)
    read = shallows.load(path, device="cpu")
    assert type(read) is type(model)
    assert is_the_same(model, read, new)
    assert [one.name for one in tmp_path.iterdir()] == ["model.npz"]


@pytest.mark.parametrize("name", shallows.estimators.__all__)
def test_a_model_comes_back_with_all_that_it_was_and_is_fitted_again(name, tmp_path):
    model = fitted(name)
    shallows.save(model, tmp_path / "model.npz")
    read = shallows.load(tmp_path / "model.npz", device=model.device)
    assert str(read.get_params()) == str(model.get_params())
    assert list(vars(read)) == list(vars(model))
    assert repr(getattr(read, "effective_params_", None)) == repr(getattr(model, "effective_params_", None))
    assert getattr(read, "losses_", None) == getattr(model, "losses_", None)
    again = clone(read).fit(X, targets(model))
    assert is_the_same(again, model)
    assert is_the_same(pickle.loads(pickle.dumps(read)), model)


def test_a_model_of_a_precomputed_kernel_comes_back(tmp_path):
    model = KernelRidgeRegressor("precomputed", random_state=0).fit(rbf_kernel(X, X), VALUES)
    shallows.save(model, tmp_path / "model.npz")
    assert is_the_same(model, shallows.load(tmp_path / "model.npz"), rbf_kernel(NEW, X))


def test_fourier_features_take_kilobytes_whatever_their_number(tmp_path):
    model = FourierFeatures(n_features=4000, random_state=0).fit(sample(50, 300))
    shallows.save(model, tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 10_000  # the mean and which features vary


@pytest.mark.parametrize("name", ["DoublyStochasticRegressor", "DoublyStochasticKernelPCA"])
def test_a_file_of_streamed_features_has_kilobytes_for_a_thousand_whatever_the_number_of_inputs(name, tmp_path):
    for d in (2, 800):
        model = getattr(shallows, name)(random_state=0, block_size=64, n_iter=100, dtype="float32")
        model.fit(sample(100, d), sample(100, 1)[:, 0])
        shallows.save(model, tmp_path / "model.npz")
        # Beside the coefficients the mean of the inputs and which vary, and a header.
        size = (tmp_path / "model.npz").stat().st_size
        assert model.dual_coef_.nbytes < size < 1.1 * model.dual_coef_.nbytes + 9 * d + 40_000


@pytest.mark.parametrize("name", ["FourierFeatures", "DoublyStochasticClassifier", "DoublyStochasticKernelCCA"])
def test_a_version_that_draws_other_frequencies_says_so(name, tmp_path, monkeypatch):
    shallows.save(fitted(name), tmp_path / "model.npz")
    drawn = kernels.Gaussian.frequencies
    monkeypatch.setattr(kernels.Gaussian, "frequencies", lambda *args, **options: 1.001 * drawn(*args, **options))
    with pytest.raises(ShallowsError, match="this version draws other features"):
        shallows.load(tmp_path / "model.npz")


def test_a_file_holds_the_first_eight_frequencies_that_a_map_draws():
    # A version that holds fewer or more reads no file of the others.
    made = features.make("fourier", kernels.Gaussian(1.5), X, 20)
    held = encoding.Writer().encode(made, "features")
    assert held["drawn"] == made.frequencies(0, np.empty(0)).reshape(-1)[:8].tolist()


def test_a_device_of_another_machine_is_left_there(tmp_path):
    model = MODELS["EigenProRegressor"]()
    model.device = "gpu:3"
    shallows.save(model, tmp_path / "model.npz")
    assert shallows.load(tmp_path / "model.npz").device == "auto"
    if not arrays.gpu_is_available():
        with pytest.raises(ImportError, match="'gpu'"):
            shallows.load(tmp_path / "model.npz", device="gpu").predict(NEW)


def test_nothing_that_a_file_holds_is_unpickled(tmp_path):
    for name in ("EigenProClassifier", "DoublyStochasticClassifier"):
        shallows.save(fitted(name), tmp_path / "model.npz")
        with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
            assert all(file[part].dtype != object for part in file.files)


# --------------------------------------------------------------------------------------- refusals


def rewrite(path, change, *, signed=False):
    """Change header and arrays; ``signed`` with the checksum of the changed file."""
    header, held = archive.read(path)
    change(header, held)
    if signed:
        archive.write(path, header, held)
    else:
        np.savez(path, header=np.array(json.dumps(header)), **held)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "saved.npz"
    shallows.save(fitted("EigenProClassifier"), path)
    return path


@pytest.fixture
def path(saved, tmp_path):
    (tmp_path / "model.npz").write_bytes(saved.read_bytes())
    return tmp_path / "model.npz"


def refused(path, message):
    with pytest.raises(ShallowsError, match=message) as told:
        shallows.load(path)
    assert str(path) in str(told.value)


CHANGES = {
    "a parameter": lambda header, held: header["parameters"].update(tol=0.5),
    "an attribute": lambda header, held: header["fitted"].update(n_features_in_=4),
    "the version": lambda header, held: header.update(version="7"),
    "an array": lambda header, held: held["array1"].__iadd__(1),
    "an array less": lambda header, held: held.pop("array1"),
    "an array more": lambda header, held: held.update(more=np.ones(2)),
    "a type": lambda header, held: held.update(array1=held["array1"].astype("f2")),
    "a shape": lambda header, held: held.update(array1=held["array1"][None]),
    "no checksum": lambda header, held: header.pop("checksum"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_edited_file_is_refused(change, path):
    rewrite(path, change)
    refused(path, r"not those that were written \(the checksum differs\)")


def array_of(name):
    return lambda header: header["fitted"][name]["array"]


SIGNED = {
    "another estimator": (lambda h, a: h.update(estimator="os.system"), "does not say the estimator"),
    "a function": (lambda h, a: h.update(estimator="save"), "does not say the estimator"),
    "an estimator that is gone": (
        lambda h, a: h.update(estimator="ExtremeLearningMachineClassifier"),
        "it is ExtremeLearningMachineClassifier, which this version, .*, does not have; CHANGELOG.md says what took",
    ),
    "no format": (lambda h, a: h.pop("format"), "the estimator and the format"),
    "a truth value for the format": (lambda h, a: h.update(format=True), "the estimator and the format"),
    "an older format": (
        lambda h, a: h.update(format=1, version="0.1"),
        "its form is that of shallows 0.1, which this version, .* does not read; fit the model again",
    ),
    "a newer format": (lambda h, a: h.update(format=9, version="5.1"), "written by shallows 5.1, which is newer"),
    "no parameters": (lambda h, a: h.pop("parameters"), "no parameters"),
    "an unknown parameter": (lambda h, a: h["parameters"].update(colour="red"), "no parameter 'colour'"),
    "a method": (lambda h, a: h["fitted"].update(predict=1), "attribute 'predict'"),
    "a special attribute": (lambda h, a: h["fitted"].update(__class__=1), "attribute '__class__'"),
    "an unknown piece": (lambda h, a: h["fitted"].update(_kernel={"eval": "1"}), "no part of a model"),
    "a class of elsewhere": (
        lambda h, a: h["fitted"].update(_kernel={"object": "subprocess:Popen", "fields": {"args": "ls"}}),
        "'subprocess:Popen', which this version does not know",
    ),
    "a function of ours": (
        lambda h, a: h["fitted"].update(_kernel={"object": "shallows.estimators.archive:write", "fields": {}}),
        "does not know",
    ),
    "an unknown kernel": (lambda h, a: h["fitted"].update(_kernel={"kernel": '{"name": "sinc"}'}), "no kernel 'sinc'"),
    "a wrong bandwidth": (
        lambda h, a: h["fitted"].update(_kernel={"kernel": '{"name": "gaussian", "bandwidth": -1}'}),
        "bandwidth must be a positive number",
    ),
    "no coefficients": (lambda h, a: h["fitted"].pop("dual_coef_"), "cannot be read"),
    "fewer coefficients": (
        lambda h, a: a.update({(name := array_of("dual_coef_")(h)): a[name][:-1]}),
        "cannot be read",
    ),
    "words for coefficients": (
        lambda h, a: a.update({(name := array_of("dual_coef_")(h)): a[name].astype(str)}),
        "cannot be read",
    ),
    "no array": (lambda h, a: a.pop(array_of("dual_coef_")(h)), "no array"),
    "a fraction of a number": (lambda h, a: h["fitted"].update(bandwidth_={"float": "1/2"}), "'1/2' for a number"),
}


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_a_sparse_matrix_and_a_sparse_array_stay_what_they_are(kind):
    writer = encoding.Writer()
    coded = writer.encode(kind(np.diag([1.0, 0.0, 2.0])), "x")
    read = encoding.Reader(writer.held).decode(coded)
    assert type(read) is kind and np.array_equal(read.toarray(), np.diag([1.0, 0.0, 2.0]))


@pytest.mark.parametrize(("change", "message"), SIGNED.values(), ids=SIGNED)
def test_a_file_that_was_made_by_hand_is_refused_with_the_reason(change, message, path):
    rewrite(path, change, signed=True)
    refused(path, message)


def test_a_parameter_that_a_file_does_not_name_has_its_default(path):
    before = shallows.load(path)
    rewrite(path, lambda header, held: header["parameters"].pop("tol"), signed=True)
    assert shallows.load(path).tol == EigenProClassifier().tol
    assert is_the_same(shallows.load(path), before)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(share, path):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    refused(path, "holds no model, or is damaged")


def test_a_bit_that_flipped_is_noticed(path):
    content = bytearray(path.read_bytes())
    _, held = archive.read(path)
    for part in (held["array1"].tobytes(), held["array2"].tobytes(), b"e\0\0\0s\0\0\0t\0\0\0i\0\0\0m"):
        place = bytes(content).index(part) + 4
        changed = bytearray(content)
        changed[place] ^= 4
        path.write_bytes(changed)
        refused(path, "damaged|cannot be read")


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    with pytest.raises(ShallowsError, match="There is no file"):
        shallows.load(path)
    path.write_bytes(pickle.dumps(fitted("EigenProRegressor")))
    refused(path, "holds no model")
    np.savez(path, a=np.ones(3))
    refused(path, "no array 'header'")
    np.savez(path, header=np.array('{"estimator": "a model"}'))
    refused(path, "does not say the estimator")


def test_what_no_file_holds_is_told_when_it_is_saved(tmp_path):
    path = tmp_path / "model.npz"
    for model, message in (
        (EigenProRegressor(rbf_kernel).fit(X, VALUES), "kernel of the model is the function 'rbf_kernel'"),
        (make_pipeline(FourierFeatures(), Ridge()).fit(X, VALUES), "Pipeline is none of them. Save the steps"),
        (Ridge().fit(X, VALUES), "Ridge is none of them"),
    ):
        with pytest.raises(ShallowsError, match=message):
            shallows.save(model, path)
        assert not list(tmp_path.iterdir())
    with pytest.raises(NotFittedError):
        shallows.save(EigenProRegressor(), path)


@dataclasses.dataclass
class OfTheUser:
    width: float = 1.0


def test_an_object_of_another_package_is_no_part_of_a_model():
    with pytest.raises(ShallowsError, match="kernel of the model is a OfTheUser, which cannot be written to a file"):
        encoding.Writer().encode(OfTheUser(), "kernel")


def test_a_generator_goes_on_where_it_was():
    generator = np.random.RandomState(3)
    generator.normal(size=3)  # an odd number: the second of a pair waits
    writer = encoding.Writer()
    coded = json.loads(json.dumps(writer.encode(generator, "random_state")))
    again = encoding.Reader(writer.held).decode(coded)
    assert np.array_equal(again.normal(size=5), generator.normal(size=5))


def test_a_model_whose_coefficients_overflowed_is_not_saved(tmp_path):
    model = MODELS["DoublyStochasticClassifier"]()
    model._state.scale = np.inf
    with pytest.raises(ShallowsError, match="no longer finite"):
        shallows.save(model, tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_file_is_whole_or_not_there(path, monkeypatch):
    before = path.read_bytes()

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(ShallowsError, match=r"could not be written .* No space left"):
        shallows.save(MODELS["EigenProRegressor"](), path)
    assert path.read_bytes() == before


def test_a_net_is_saved_and_comes_back_where_there_is_no_pytorch(tmp_path, monkeypatch):
    def missing():
        raise MissingExtraError("nets", "A neural net")

    monkeypatch.setattr("shallows_papers.nets.backend.torch", missing)
    model = NeuralNetClassifier("top_layers", random_state=0)
    model.weights_ = {"body0.weight": sample(4, 3), "output.bias": np.zeros(2, dtype=np.float32)}
    model.coding_ = Coding((3,), None, None, None, X.mean(axis=0), 1.5, None)
    model.classes_, model.n_features_in_ = np.array(["a", "b"]), 3
    shallows.save(model, tmp_path / "model.npz")
    read = shallows.load(tmp_path / "model.npz")
    assert read.get_params() == model.get_params()
    assert all(np.array_equal(read.weights_[name], value) for name, value in model.weights_.items())
    assert np.array_equal(read.coding_.middle(NEW), model.coding_.middle(NEW))
    assert read.classes_.tolist() == ["a", "b"]
