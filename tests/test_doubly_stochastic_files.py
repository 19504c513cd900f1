"""Saved models of growing functions: they predict and go on the same; a file that means something else is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from doubly_stochastic_example import WORDS, endless, moons, waves
from engine_example import sample
from shallows import (
    DoublyStochasticClassifier,
    DoublyStochasticNoveltyDetector,
    DoublyStochasticRegressor,
    kernels,
    losses,
)
from shallows.errors import ShallowsError

MODELS = {
    "words": lambda: DoublyStochasticClassifier(random_state=0).fit(*moons(classes=3)),
    "numbers": lambda: DoublyStochasticClassifier(random_state=0, loss="hinge", method="cdsg").fit(
        moons()[0], (moons()[1] == "low").astype(int)
    ),
    "several outputs": lambda: DoublyStochasticRegressor(random_state=0, loss=losses.Huber(20.0)).fit(
        waves()[0], waves()[0] * 7
    ),
    "matern": lambda: DoublyStochasticRegressor("matern", kernel_params={"nu": 1.5}, random_state=0).fit(*waves()),
    "novelty": lambda: DoublyStochasticNoveltyDetector(random_state=0, method="udsg").fit(moons()[0]),
    "stream": lambda: DoublyStochasticClassifier(random_state=0, block_size=8).partial_fit(endless(5), classes=WORDS),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_that_was_saved_predicts_and_goes_on_the_same(make, tmp_path):
    model = make()
    model.save(tmp_path / "model.npz")
    read = type(model).load(tmp_path / "model.npz", device="cpu")
    X, y = moons(seed=5, classes=3) if len(getattr(model, "classes_", ())) == 3 else moons(seed=5)
    assert np.array_equal(read.predict(X), model.predict(X))
    score = "score_samples" if hasattr(model, "score_samples") else "decision_function"
    if hasattr(model, score):
        assert np.array_equal(getattr(read, score)(X), getattr(model, score)(X))
    targets = None
    if isinstance(model, DoublyStochasticRegressor):
        targets = X * 3 if model.predict(X).ndim == 2 else X[:, 0]
    elif isinstance(model, DoublyStochasticClassifier):
        targets = y if model.classes_.dtype.kind in "UO" else (y == "low").astype(int)
    for one in (model, read):
        one.partial_fit(X, targets)
    assert np.array_equal(read.dual_coef_, model.dual_coef_)
    assert clone(read).get_params().keys() == model.get_params().keys()
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_a_pickled_model_predicts_the_same():
    model = MODELS["words"]()
    X, _ = moons(classes=3)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))


def test_a_file_has_kilobytes_for_a_thousand_frequencies_whatever_the_number_of_inputs(tmp_path):
    sizes = {}
    for d in (2, 800):
        for n_iter in (10, 135):
            model = DoublyStochasticRegressor(random_state=0, block_size=8, n_iter=n_iter, dtype="float32")
            model.fit(sample(100, d), sample(100, 1)[:, 0])
            model.save(tmp_path / "model.npz")
            sizes[d, n_iter] = (tmp_path / "model.npz").stat().st_size
    for d in (2, 800):
        assert abs(sizes[d, 135] - sizes[d, 10] - (1000 * 2 + 125) * 4) < 300  # 125 blocks of 8 and their traces.
    assert sizes[800, 10] - sizes[2, 10] < 798 * 8 + 200  # The mean.


def rewritten(path, change):
    with np.load(path) as file:
        held = dict(file)
    header = json.loads(str(held["header"]))
    change(header, held)
    held["header"] = np.array(json.dumps(header))
    np.savez(path, **held)


CHANGES = {
    "another kernel": (
        lambda header, held: header.update(kernel=json.dumps({"name": "sinc", "bandwidth": 1.0})),
        "kernel that this version does not know.*sinc",
    ),
    "a kernel with other draws": (
        lambda header, held: header.update(kernel=json.dumps({"name": "laplace", "bandwidth": 1.0})),
        "draws other features for the kernel 'laplace'",
    ),
    "a newer version": (
        lambda header, held: header.update(format=99, version="9.0"),
        "written by shallows 9.0, which is newer",
    ),
    "other draws": (lambda header, held: held["probes"].__imul__(1.01), "draws other features"),
    "another estimator": (
        lambda header, held: header.update(estimator="DoublyStochasticRegressor"),
        "holds a DoublyStochasticRegressor, not a DoublyStochasticClassifier",
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_means_something_else_is_refused(change, tmp_path):
    MODELS["words"]().save(tmp_path / "model.npz")
    rewritten(tmp_path / "model.npz", change[0])
    with pytest.raises(ShallowsError, match=change[1]):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")


def test_a_file_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ShallowsError, match="There is no file"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    (tmp_path / "model.npz").write_bytes(b"words")
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    np.savez(tmp_path / "model.npz", a=np.ones(3))
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    MODELS["words"]().save(tmp_path / "model.npz")
    content = (tmp_path / "model.npz").read_bytes()
    (tmp_path / "model.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")


def edit(part, key, value):
    """A change of one entry of the header, or of a mapping in it."""
    return lambda header, held: (header[part] if part else header).update({key: value})


def drop(part, key):
    return lambda header, held: (header[part] if part else header).pop(key)


def put(name, change):
    """A change of one array."""
    return lambda header, held: held.update({name: change(held[name])})


def spoilt(array):
    array = array.copy()
    array[(-1,) * array.ndim] = np.nan
    return array


HEADER = ["estimator", "format", "kernel", "loss", "solver", "features", "dtype", "n_outputs", "growth", "state"]
HEADER += ["parameters", "effective", "targets", "mean_weight"]

EDITS = {
    **{f"no {key}": (drop(None, key), "header") for key in HEADER},
    **{f"no {key} of the features": (drop("features", key), key) for key in ("n_inputs", "seed", "form")},
    **{f"no {key} of the solver": (drop("solver", key), key) for key in ("step_size", "policy", "line_search")},
    **{f"no {key} of the state": (drop("state", key), key) for key in ("scale", "n_blocks", "n_steps", "offset")},
    "no batch size": (drop("effective", "batch_size"), "batch_size"),
    "no kind of classes": (drop("targets", "object"), "targets/object"),
    **{
        f"a list for {key}": (edit(None, key, []), f"'{key}'")
        for key in ("solver", "features", "state", "parameters", "effective", "targets")
    },
    "a mapping for a name": (edit(None, "kernel", {"name": "gaussian"}), "'kernel'"),
    "a kernel that is no JSON": (edit(None, "kernel", "gaussian"), "kernel that this version does not know"),
    "a kernel as a list": (edit(None, "kernel", "[1]"), "kernel that this version does not know"),
    "a kernel without a bandwidth": (edit(None, "kernel", '{"name": "gaussian"}'), "bandwidth"),
    "a kernel without frequencies": (edit(None, "kernel", '{"name": "linear"}'), "'linear' has no spectral draws"),
    "a format in words": (edit(None, "format", "one"), "format"),
    "an estimator that is a number": (edit(None, "estimator", 5), "estimator"),
    "another precision": (edit(None, "dtype", "float16"), "'dtype'.*float16"),
    "the other precision": (edit(None, "dtype", "float32"), "type float64, expected float32"),
    "outputs in words": (edit(None, "n_outputs", "two"), "'n_outputs'.*'two'"),
    "a fraction of an output": (edit(None, "n_outputs", 3.0), "'n_outputs'"),
    "true outputs": (edit(None, "n_outputs", True), "'n_outputs'"),
    "another number of outputs": (edit(None, "n_outputs", 2), "buffer"),
    "a loss that is a name": (edit(None, "loss", "softmax"), "'loss'"),
    "an unknown loss": (edit(None, "loss", ["softmaxx", {}]), "no loss 'softmaxx'"),
    "a loss with an unknown parameter": (edit(None, "loss", ["softmax", {"heat": 1}]), "heat"),
    "a loss of numbers": (edit(None, "loss", ["huber", {"delta": 1.0}]), "huber"),
    "a weight of zero": (edit(None, "mean_weight", 0), "'mean_weight'"),
    "a weight that is no number": (edit(None, "mean_weight", float("nan")), "'mean_weight'"),
    "growth in words": (edit(None, "growth", "much"), "'growth'"),
    "an unknown parameter": (edit("parameters", "colour", "red"), "no parameter 'colour'"),
    "a bandwidth in words": (edit("parameters", "bandwidth", "wide"), "bandwidth must be a positive number"),
    "an unknown method": (edit("parameters", "method", "sgd"), "method must be one of"),
    "an unknown kernel in the parameters": (edit("parameters", "kernel", "sinc"), "no kernel 'sinc'"),
    "a list for parameters of the kernel": (edit("parameters", "kernel_params", ["nu"]), "parameters/kernel_params"),
    "words for parameters of the kernel": (edit("parameters", "kernel_params", "nu"), "must be a dictionary"),
    "a cap in words": (edit("parameters", "cap", "high"), "parameters/cap"),
    "a list of seeds": (edit("parameters", "random_state", [1]), "parameters/random_state"),
    "a format of zero": (edit(None, "format", 0), "format"),
    "negative damping": (edit("solver", "damping", -1.0), "solver/damping"),
    "an unknown key of the features": (edit("features", "colour", 1), "colour"),
    "an unknown form": (edit("features", "form", "triple"), "form must be one of"),
    "more inputs": (edit("features", "n_inputs", 10**9), "'mean' has the shape"),
    "larger blocks": (edit("features", "block_size", 10**9), "'buffer' has the shape"),
    "an unknown key of the solver": (edit("solver", "colour", 1), "colour"),
    "an unknown policy": (edit("solver", "policy", ["best", {}]), "'best'"),
    "a policy without parameters": (edit("solver", "policy", ["cdsg", {}]), "feature_variance"),
    "a policy with words for numbers": (
        edit("solver", "policy", ["cdsg", {"feature_variance": "much"}]),
        "solver/policy/1/feature_variance",
    ),
    "an unknown preconditioning": (edit("solver", "preconditioning", "full"), "'full'"),
    "an unknown key of the state": (edit("state", "evaluate", 1), "evaluate"),
    "a scale that is infinite": (edit("state", "scale", float("inf")), "state/scale"),
    "steps in words": (edit("state", "n_steps", "many"), "state/n_steps"),
    "a block too many": (
        lambda header, held: header["state"].update(n_blocks=header["state"]["n_blocks"] + 1),
        "buffer",
    ),
    "fewer blocks than none": (edit("state", "n_blocks", -1), "state/n_blocks"),
    "a direction of no block": (edit("state", "direction_block", 10**6), "names block 1000000"),
    "a batch of nothing": (edit("effective", "batch_size", 0), "effective/batch_size"),
    **{
        f"no array {name}": (lambda header, held, name=name: held.pop(name), f"no array '{name}'")
        for name in ("buffer", "trace_buffer", "mean", "probes", "classes")
    },
    **{
        f"{name} cut short": (put(name, lambda array: array[:-1]), f"'{name}'.*shape|names 2 classes")
        for name in ("buffer", "trace_buffer", "mean", "probes", "classes", "direction")
    },
    **{
        f"{name} with an axis more": (put(name, lambda array: array[None]), f"'{name}' has the shape")
        for name in ("buffer", "trace_buffer", "mean", "probes", "classes", "direction")
    },
    **{
        f"NaN in {name}": (put(name, spoilt), f"'{name}' holds NaN or infinity")
        for name in ("buffer", "trace_buffer", "mean", "probes", "direction")
    },
    **{
        f"words in {name}": (put(name, lambda array: array.astype(str)), f"'{name}' is of type")
        for name in ("buffer", "trace_buffer", "mean", "probes", "direction")
    },
    **{
        f"objects in {name}": (
            put(name, lambda array: array.astype(object)),
            "is damaged.*allow_pickle",
        )
        for name in ("buffer", "mean", "classes")
    },
    "numbers for classes in words": (edit("targets", "object", True), "'classes' is of type"),
    "a class twice": (put("classes", lambda array: array[[0, 0, 1]]), "names a class twice"),
    "a class more": (put("classes", lambda array: np.append(array, 9)), "names 4 classes"),
}


@pytest.fixture(scope="module")
def three_classes():
    X, y = moons(classes=3)
    model = DoublyStochasticClassifier(random_state=0, block_size=8, n_iter=5, schedule="line_search")
    return model.fit(X, np.unique(y, return_inverse=True)[1])


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_an_edited_file_is_refused_when_it_is_loaded_and_the_message_says_what_is_wrong(
    three_classes, change, tmp_path
):
    path = tmp_path / "model.npz"
    three_classes.save(path)
    rewritten(path, change[0])
    with pytest.raises(ShallowsError, match=change[1]) as told:
        DoublyStochasticClassifier.load(path)
    assert str(path) in str(told.value)


EDITS_OF_REGRESSORS = {
    **{f"no {name}": (lambda header, held, name=name: held.pop(name), name) for name in ("intercept", "target_scale")},
    "a shorter intercept": (put("intercept", lambda array: array[:-1]), "'intercept' has the shape"),
    "NaN in the intercept": (put("intercept", spoilt), "'intercept' holds NaN"),
    "a scale of zero": (put("target_scale", lambda array: 0 * array), "not positive"),
    "several outputs in one column": (edit("targets", "one_column", True), "targets/one_column"),
    "no shape of the targets": (drop("targets", "one_column"), "targets/one_column"),
    "a loss of classes": (edit(None, "loss", ["hinge", {}]), "hinge"),
}


@pytest.mark.parametrize("change", EDITS_OF_REGRESSORS.values(), ids=EDITS_OF_REGRESSORS)
def test_an_edited_file_of_a_regressor_is_refused(change, tmp_path):
    path = tmp_path / "model.npz"
    MODELS["several outputs"]().save(path)
    rewritten(path, change[0])
    with pytest.raises(ShallowsError, match=change[1]):
        DoublyStochasticRegressor.load(path)


@pytest.mark.parametrize(
    ("change", "says"),
    [(edit(None, "loss", ["square", {}]), "square"), (edit("state", "offset", float("nan")), "state/offset")],
)
def test_an_edited_file_of_a_detector_is_refused(change, says, tmp_path):
    path = tmp_path / "model.npz"
    MODELS["novelty"]().save(path)
    rewritten(path, change)
    with pytest.raises(ShallowsError, match=says):
        DoublyStochasticNoveltyDetector.load(path)


def plain_array(path):
    with open(path, "wb") as file:
        np.save(file, np.ones(3))


def header_of(text):
    def write(path):
        with np.load(path) as file:
            held = dict(file)
        np.savez(path, **held | {"header": np.array(text(str(held["header"])))})

    return write


@pytest.mark.parametrize(
    "write",
    [
        plain_array,
        lambda path: path.write_bytes(pickle.dumps({"a": 1})),
        lambda path: path.write_bytes(b""),
        header_of(lambda header: header[: len(header) // 2]),
        header_of(lambda header: "[" + header + "]"),
        header_of(lambda header: "[" * 100_000),
        header_of(lambda header: "5"),
        header_of(lambda header: [header, header]),
    ],
    ids=["npy", "a pickle", "empty", "half a header", "a list", "deep", "a number", "two headers"],
)
def test_a_file_of_another_kind_is_refused(three_classes, write, tmp_path):
    path = tmp_path / "model.npz"
    three_classes.save(path)
    write(path)
    with pytest.raises(ShallowsError, match=r"model\.npz holds no model, or is damaged"):
        DoublyStochasticClassifier.load(path)


def test_a_model_whose_coefficients_overflowed_is_not_saved(tmp_path):
    model = MODELS["words"]()
    model._state.scale = np.inf
    with pytest.raises(ShallowsError, match="no longer finite"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_cap_without_bound_is_saved_and_loaded(tmp_path):
    model = DoublyStochasticRegressor(method="cdsg", cap=np.inf, random_state=0).fit(*waves())
    model.save(tmp_path / "model.npz")
    read = DoublyStochasticRegressor.load(tmp_path / "model.npz")
    assert np.array_equal(read.predict(waves()[0]), model.predict(waves()[0]))


def test_a_kernel_object_is_saved_and_stands_alone_when_it_comes_back(tmp_path):
    model = DoublyStochasticRegressor(kernels.Matern(2.0, 1.5), random_state=0).fit(*waves())
    model.save(tmp_path / "model.npz")
    read = DoublyStochasticRegressor.load(tmp_path / "model.npz")
    assert read.kernel == kernels.Matern(2.0, 1.5)
    assert read.bandwidth is None
    assert np.array_equal(read.predict(waves()[0]), model.predict(waves()[0]))


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        DoublyStochasticClassifier().save(tmp_path / "model.npz")
