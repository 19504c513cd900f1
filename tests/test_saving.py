"""Saved models of every estimator: they predict the same to the bit, and another file is refused."""

import functools
import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import skops.io
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import forms
import shallows
from bad_input_example import few
from engine_example import sample
from feature_forms import feature_eigenpro_regressor
from flat import flat, flat_if_known
from forms import eigenpro_classifier
from pretended_gpu import pretended_gpu
from shallows import (
    DoublyStochasticRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    KernelSVMClassifier,
    LinearSVMClassifier,
    Options,
    RegularizedRiskClassifier,
    RegularizedRiskRegressor,
    arrays,
    features,
    kernels,
    losses,
    spectrum,
)
from shallows.errors import MissingExtraError, ShallowsError
from shallows.kernel_approximation import FourierFeatures
from shallows.kernels import ArcCosine, Matern
from shallows.saving import archive
from shallows.solvers import Certified, CheckedReuse, DoublyStochastic, EigenPro, UniformReuse
from shallows_papers.nets import NeuralNetClassifier
from shallows_papers.nets.descent import Coding
from solved_by import constructor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, NEW = sample(120, 3), sample(40, 3, seed=1)
VALUES = np.sin(2 * X[:, 0]) + X[:, 1]
WORDS = np.array(["low", "middle", "high"], dtype=object)[np.digitize(VALUES, [-0.7, 0.7])]
SEVERAL = (X > 0).astype(int)


def unfitted(name):
    Estimator = constructor(name)
    options = {"random_state": 0, "max_epochs": 3, "n_features": 40, "n_units": 40, "block_size": 8, **few(Estimator)}
    return flat_if_known(Estimator, **options)


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


def ridge(**options):
    return KernelRidgeRegressor(**{"random_state": 0, "solver": "eigenpro", **options})


def stochastic(kernel="gaussian", **settings):
    return DoublyStochasticRegressor(kernel, solver=DoublyStochastic(**settings), random_state=0)


PRECONDITIONER = spectrum.fit_preconditioner(X, bandwidth=2.0, rank=5, n_subsample=60, dtype="float64")
ORTHOGONAL = FourierFeatures(orthogonal=True, n_features=31)


def loaded(model, folder, **options):
    """The model from a file."""
    shallows.save(model, folder / "model.skops")
    return shallows.load(folder / "model.skops", **options)


NAMES = sorted({*shallows.estimators.__all__, *forms.FORMS})
#: An estimator and the arguments of its fit.
MODELS = {name: (unfitted(name), X, targets(unfitted(name))) for name in NAMES} | {
    "many rows": (ridge(solver=EigenPro(max_epochs=2)), sample(1100, 3), sample(1100, 1)[:, 0]),
    "early stopping": (KernelRidgeClassifier(solver="eigenpro", early_stopping=True, random_state=0), X, WORDS),
    "several labels": (KernelRidgeClassifier(random_state=0), X, SEVERAL),
    "a table": (ridge(), pd.DataFrame(X, columns=["a", "b", "c"]), VALUES),
    "matern": (ridge(kernel=Matern(nu=0.7), solver="kernel_sgd", bandwidth="median", n_components=None), X, VALUES),
    "a loss object": (RegularizedRiskRegressor(loss=losses.Huber(0.3), random_state=0), X, VALUES),
    "centres": (KernelRidgeRegressor(centers=X[:30], random_state=0), X, VALUES),
    "linear": (RegularizedRiskClassifier(solver="svrg", features="linear", random_state=0), X, WORDS),
    "orthogonal": (RegularizedRiskClassifier(solver="pegasos", features=ORTHOGONAL, random_state=0), X, WORDS),
    "wide": (feature_eigenpro_regressor(n_features=2300, max_epochs=2, random_state=0), X, VALUES),
    "a map": (feature_eigenpro_regressor(features.LinearMap(3), random_state=0), X, VALUES),
    "a step rule": (ridge(solver=EigenPro(step=Certified(noise=0.3))), X, VALUES),
    "a preconditioner": (ridge(solver=EigenPro(preconditioner=PRECONDITIONER)), X, VALUES),
    "a cap without bound": (stochastic(reuse=CheckedReuse(cap=np.inf)), X, VALUES),
    "re-use": (stochastic(reuse=UniformReuse()), X, VALUES),
    "features of a series": (stochastic("exponential", n_iter=5), X, VALUES),
    "random units": (stochastic(ArcCosine(order=0), n_iter=5), X, VALUES),
    "a generator": (ridge(random_state=np.random.RandomState(3)), X, VALUES),
    "cosines": (FourierFeatures("laplace", form="cosine", n_features=9, random_state=0), X.astype("f4")),
}


def fresh(name):
    model, *data = MODELS[name]
    return clone(model).fit(*data)


@functools.cache
def fitted(name):
    """A model that several tests only read."""
    return fresh(name)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_with_equal_predictions_to_the_bit_and_all_that_it_was(name, tmp_path):
    model = fitted(name)
    new = NEW if model.n_features_in_ == 3 else np.hstack([NEW, NEW])
    if hasattr(model, "feature_names_in_"):
        new = pd.DataFrame(new, columns=["a", "b", "c"])
    read = loaded(model, tmp_path, device=model._options().device)
    assert type(read) is type(model)
    assert is_the_same(model, read, new)
    assert [one.name for one in tmp_path.iterdir()] == ["model.skops"]
    if name in shallows.estimators.__all__:
        assert str(read.get_params()) == str(model.get_params())
        assert list(vars(read)) == list(vars(model))
        assert repr(getattr(read, "report_", None)) == repr(getattr(model, "report_", None))
        assert getattr(read, "losses_", None) == getattr(model, "losses_", None)
        assert is_the_same(clone(read).fit(X, targets(model)), model)
        assert is_the_same(pickle.loads(pickle.dumps(read)), model)


def test_fourier_features_take_kilobytes_whatever_their_number(tmp_path):
    model = FourierFeatures(n_features=4000, random_state=0).fit(sample(50, 300))
    shallows.save(model, tmp_path / "model.skops")
    assert (tmp_path / "model.skops").stat().st_size < 40_000  # the mean, which features vary, and texts


@pytest.mark.parametrize("name", ["DoublyStochasticRegressor", "DoublyStochasticKernelPCA"])
def test_a_file_of_streamed_features_has_kilobytes_for_a_thousand_whatever_the_number_of_inputs(name, tmp_path):
    for d in (2, 800):
        model = flat(getattr(shallows.estimators, name), random_state=0, block_size=64, n_iter=100, dtype="float32")
        model.fit(sample(100, d), sample(100, 1)[:, 0])
        shallows.save(model, tmp_path / "model.skops")
        # Next to the coefficients: the mean of the inputs, which vary, and texts.
        size = (tmp_path / "model.skops").stat().st_size
        assert model.dual_coef_.nbytes < size < 1.1 * model.dual_coef_.nbytes + 9 * d + 160_000


@pytest.mark.parametrize("name", ["FourierFeatures", "DoublyStochasticClassifier", "DoublyStochasticKernelCCA"])
def test_a_version_that_draws_other_frequencies_says_so(name, tmp_path, monkeypatch):
    shallows.save(fitted(name), tmp_path / "model.skops")
    drawn = kernels.Gaussian.frequencies
    monkeypatch.setattr(kernels.Gaussian, "frequencies", lambda *args, **options: 1.001 * drawn(*args, **options))
    with pytest.raises(ShallowsError, match="this version draws other features"):
        shallows.load(tmp_path / "model.skops")


def test_a_device_of_another_machine_is_left_there(tmp_path):
    model = fresh("EigenProRegressor")
    model.options = Options(device="gpu:3")
    shallows.save(model, tmp_path / "model.skops")
    assert shallows.load(tmp_path / "model.skops").options.device == "auto"
    if not arrays.gpu_is_available():
        with pytest.raises(ImportError, match="'gpu'"):
            shallows.load(tmp_path / "model.skops", device="gpu").predict(NEW)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["EigenProRegressor", "feature_eigenpro: FeatureRidgeRegressor", "DoublyStochasticKernelSVD"]
)
def test_a_file_has_no_arrays_of_a_gpu(name, monkeypatch, tmp_path):
    with pretended_gpu(monkeypatch):
        model = forms.changed(unfitted(name), device="gpu").fit(X, VALUES)
        shallows.save(model, tmp_path / "model.skops")
    assert is_the_same(shallows.load(tmp_path / "model.skops"), shallows.load(tmp_path / "model.skops", device="cpu"))


# --------------------------------------------------------------------------------------- refusals


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "saved.skops"
    shallows.save(fitted("EigenProClassifier"), path)
    return path


@pytest.fixture
def path(saved, tmp_path):
    (tmp_path / "model.skops").write_bytes(saved.read_bytes())
    return tmp_path / "model.skops"


def refused(path, message):
    with pytest.raises(ShallowsError, match=message) as told:
        shallows.load(path)
    assert str(path) in str(told.value)


def rewrite(path, change, *, compression=zipfile.ZIP_STORED, signed=False):
    """Change the members of a file; ``signed`` with the checksum of the changed file."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    if signed:
        about = json.loads(members.pop(archive.ABOUT))
        about.pop("sha256")
        with zipfile.ZipFile(path) as file:
            about["sha256"] = archive._digest(file, about)
        rewrite(path, lambda members: members.update({archive.ABOUT: json.dumps(about).encode()}))


def in_text(name, old, new):
    """A change of a text in a member."""

    def change(members):
        assert old.encode() in members[name]
        members[name] = members[name].replace(old.encode(), new.encode(), 1)

    return change


def first_array(members):
    return next(name for name in members if name.endswith(".npy"))


WRITTEN = r"not those that were written \(the checksum differs\)"
#: A change of the members of a file, and what is said of it.
CHANGES = {
    "a parameter": (in_text("schema.json", '"content": "3"', '"content": "4"'), WRITTEN),
    "the version": (in_text(archive.ABOUT, '"version": "', '"version": "7'), WRITTEN),
    "an array": (lambda m: m.update({(name := first_array(m)): m[name][:-1] + b"x"}), WRITTEN),
    "an array less": (lambda m: m.pop(first_array(m)), WRITTEN),
    "an array more": (lambda m: m.update({"more.npy": b"x"}), WRITTEN),
    "no checksum": (in_text(archive.ABOUT, '"sha256"', '"sha1"'), WRITTEN),
    "no schema": (lambda m: m.pop("schema.json"), WRITTEN),
    "no description": (lambda m: m.pop(archive.ABOUT), "not a model of shallows.save"),
    "a newer format": (
        lambda m: m.update({archive.ABOUT: json.dumps({"format": 9, "version": "5.1"}).encode()}),
        "it has format 9 of shallows 5.1, and this version, .*, reads format 4. Load it with that version",
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_an_edited_file_is_refused(change, message, path):
    rewrite(path, change)
    refused(path, message)


def with_parameter(name, node):
    """A change of the schema: another node for a parameter of the model."""

    def change(members):
        schema = json.loads(members["schema.json"])
        schema["content"]["content"][name] = node
        members["schema.json"] = json.dumps(schema).encode()

    return change


def node(place, loader, **content):
    module, _, name = place.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, "__id__": 1, **content}


LIST = node("builtins.list", "ListNode", content=[node("builtins.str", "JsonNode", content='"touched"', is_json=True)])
REFUSED_NAMES = {
    "a function of the system": node("posix.system", "FunctionNode"),
    "a function of shallows": node("shallows.saving.save", "FunctionNode"),
    "a function of NumPy": node("numpy.fromfile", "FunctionNode"),
    "a class that starts programs": node("subprocess.Popen", "ConstructorFromReduceNode", content=LIST),
    "a class imported from elsewhere": node("sklearn.pipeline.Bunch", "TypeNode"),
    "a class of shallows that is no part of a model": node("shallows.errors.ShallowsError", "TypeNode"),
    "a class that this version does not have": node("shallows.kernels.radial.Gone", "ObjectNode"),
}


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_a_file_with_something_else_than_classes_of_models_is_refused(name, path):
    made = REFUSED_NAMES[name]
    rewrite(path, with_parameter("kernel", made), signed=True)
    refused(path, f"it contains {made['__module__']}.{made['__class__']}, which is not a class of a model .* fit the ")


def test_a_model_whose_parts_do_not_fit_together_is_refused(tmp_path):
    model = fresh("EigenProRegressor")
    model._model = replace(model._model, coefficients=model.dual_coef_[:-1])
    shallows.save(model, tmp_path / "model.skops")
    refused(tmp_path / "model.skops", "damaged|cannot be read")


def test_a_file_that_unpacks_to_more_than_the_free_memory_is_refused_before_it_is_read(path, monkeypatch):
    rewrite(path, lambda members: members.update(more=bytes(10**8)), compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**6
    monkeypatch.setattr(arrays, "available_memory", lambda: 10**8)
    monkeypatch.setattr("skops.io.load", None)
    refused(path, r"it unpacks to 0\.1 GB, and 0\.1 GB of memory are free")


def test_the_size_of_a_sparse_matrix_is_its_unpacked_size(path, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.npy", bytes(10**8))
    rewrite(path, lambda members: members.update({"more.npy": packed.getvalue()}))
    monkeypatch.setattr(arrays, "available_memory", lambda: 10**8)
    refused(path, "it unpacks to")


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_bit_that_flipped_is_noticed(place, path):
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 4
    path.write_bytes(content)
    refused(path, "damaged|cannot be read")


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    with pytest.raises(ShallowsError, match="There is no file"):
        shallows.load(path)
    path.write_bytes(pickle.dumps(fitted("EigenProRegressor")))
    refused(path, "is not a model of shallows.save")
    skops.io.dump(Ridge().fit(X, VALUES), path)
    refused(path, "is not a model of shallows.save")


def test_a_file_of_the_older_format_is_refused_with_the_version_that_reads_it(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, header=np.array(json.dumps({"format": 3, "version": "0.2.0", "estimator": "EigenProClassifier"})))
    refused(path, r"older format \(.npz\) of shallows 0.2.0. Load it with that version, or fit the model again")


def test_what_cannot_be_in_a_file_is_refused_when_it_is_saved(tmp_path):
    path = tmp_path / "model.skops"
    for model, message in (
        (
            KernelRidgeRegressor(rbf_kernel, solver="eigenpro").fit(X, VALUES),
            "contains sklearn.metrics.pairwise.rbf_kernel, which cannot be",
        ),
        (
            KernelRidgeRegressor(lambda x, z: x @ z.T, solver="eigenpro").fit(X, VALUES),
            "<lambda>, which cannot be written to a file",
        ),
        (feature_eigenpro_regressor(OfTheUser()).fit(X, VALUES), "OfTheUser, which cannot be written to a file"),
        (make_pipeline(FunctionTransformer(np.flipud), Ridge()).fit(X, VALUES), "contains numpy.*flipud"),
        ([1.0], "writes fitted estimators, and got a list"),
    ):
        with pytest.raises(ShallowsError, match=message):
            shallows.save(model, path)
        assert not list(tmp_path.iterdir())
    with pytest.raises(NotFittedError):
        shallows.save(KernelRidgeRegressor(solver="eigenpro"), path)


class OfTheUser(features.LinearMap):
    """A feature map of the user's."""

    def __init__(self):
        super().__init__(3)


def test_a_pipeline_comes_back_with_its_device(tmp_path):
    model = make_pipeline(
        StandardScaler(), FourierFeatures(random_state=0, options=Options(device="cpu")), LogisticRegression()
    )
    model.fit(X, WORDS)
    read = loaded(model, tmp_path)
    assert is_the_same(model, read)
    assert read[1].options.device == "auto"


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
@pytest.mark.parametrize("Estimator", [eigenpro_classifier, KernelSVMClassifier, LinearSVMClassifier])
def test_a_model_of_sparse_rows_comes_back(kind, Estimator, tmp_path):
    rows = kind(np.where(sample(80, 1200) > 1.9, 1.0, 0.0))
    model = Estimator(random_state=0).fit(rows, WORDS[:80])
    assert is_the_same(model, loaded(model, tmp_path), rows)


@pytest.mark.parametrize("keys", [(False, True), (np.int64(0), np.int64(1))])
def test_weights_of_classes_that_are_truth_values_come_back(keys, tmp_path):
    weights = dict(zip(keys, (1.0, 3.0), strict=True))
    y = np.asarray(VALUES > 0).astype(type(keys[0]))
    model = KernelRidgeClassifier(solver="eigenpro", class_weight=weights, random_state=0).fit(X, y)
    read = loaded(model, tmp_path)
    assert read.class_weight == weights == model.class_weight
    assert is_the_same(clone(read).fit(X, y), model)


def test_a_generator_goes_on_where_it_was(tmp_path):
    generator = np.random.RandomState(3)
    model = KernelRidgeRegressor(solver="eigenpro", random_state=generator).fit(X, VALUES)
    generator.normal(size=3)  # an odd number: the second of a pair waits
    found = loaded(model, tmp_path).random_state
    assert np.array_equal(found.normal(size=5), generator.normal(size=5))


def test_a_model_whose_coefficients_overflowed_is_not_saved(tmp_path):
    model = fresh("DoublyStochasticClassifier")
    model._state.scale = np.inf
    with pytest.raises(ShallowsError, match="no longer finite"):
        shallows.save(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_file_is_whole_or_not_there(path, monkeypatch):
    before = path.read_bytes()

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("skops.io.dump", full)
    with pytest.raises(ShallowsError, match=r"could not be written .* No space left"):
        shallows.save(fresh("EigenProRegressor"), path)
    assert path.read_bytes() == before


def test_a_net_is_saved_and_comes_back_where_there_is_no_pytorch(tmp_path, monkeypatch):
    def missing():
        raise MissingExtraError("nets", "A neural net")

    monkeypatch.setattr("shallows_papers.nets.backend.torch", missing)
    model = NeuralNetClassifier("top_layers", random_state=0)
    model.weights_ = {"body0.weight": sample(4, 3), "output.bias": np.zeros(2, dtype=np.float32)}
    model.coding_ = Coding((3,), None, None, None, X.mean(axis=0), 1.5, None)
    model.classes_, model.n_features_in_ = np.array(["a", "b"]), 3
    read = loaded(model, tmp_path)
    assert read.get_params() == model.get_params()
    assert all(np.array_equal(read.weights_[name], value) for name, value in model.weights_.items())
    assert np.array_equal(read.coding_.middle(NEW), model.coding_.middle(NEW))
    assert read.classes_.tolist() == ["a", "b"]
