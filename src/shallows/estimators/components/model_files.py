"""Saving and loading of models of components: coefficients, seeds and parameters, no data and no features."""

from __future__ import annotations

import dataclasses
import json
import math
import numbers
from typing import Any

import numpy as np

from ... import __version__, arrays, kernels
from ...errors import ShallowsError
from ...features.fourier import FourierFeatures
from .. import archive
from ..centring import Centring
from .component_plan import View

FORMAT = 1
"""Version of the files; raised when older files would be read in another sense."""

N_PROBES = 16

MOST_SHOWN = 300
"""Characters of a message about a header: its values may be long."""


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file, which has its final name only once it is complete."""
    state = model._state
    if not state.is_finite():
        raise ShallowsError(f"The model's coefficients are no longer finite numbers; it is not written to {path}.")
    held, state_numbers = state.remember()
    held = {f"state.{name}": array for name, array in held.items()}
    views = []
    for place, view in enumerate(model._views):
        features = view.features
        views.append(
            {
                "kernel": kernels.described(features.kernel),
                "n_inputs": features.n_inputs,
                "block_size": features.block_size,
                "seed": features.seed,
                "orthogonal": features.orthogonal,
            }
        )
        held[f"mean.{place}"], held[f"probes.{place}"] = view.centring.mean, _probes(features)
    header = {
        "format": FORMAT,
        "version": __version__,
        "estimator": type(model).__name__,
        "views": views,
        "dtype": model._dtype.name,
        "state": state_numbers,
        "solver": {f.name: getattr(model._solver, f.name) for f in dataclasses.fields(model._solver)},
        "parameters": {name: value for name, value in model.get_params().items() if _is_plain(value)},
        "effective": model.effective_params_,
        "batch_size": model.batch_size_,
    }
    held |= {f"extra.{name}": array for name, array in model._extra_arrays().items()}
    if hasattr(model, "feature_names_in_"):
        held["feature_names_in_"] = np.asarray(model.feature_names_in_, dtype=str)
    archive.write(path, json.loads(json.dumps(header, default=_as_builtin)), held)


def load(cls: type, path: Any, device: str) -> Any:
    """Read a model that `save` wrote, or raise an error that says why it cannot be read."""
    where = arrays.resolve_device(device)
    header, held = archive.read(path)
    try:
        model = _model_of(cls, header, held, device, where)
        archive.check_unchanged(header, held)
        return model
    except ShallowsError as error:
        raise ShallowsError(f"The model in {path} cannot be read: {str(error).rstrip('.')}.") from error
    # What no check foresaw is an edited file all the same.
    except Exception as error:
        raise ShallowsError(f"The model in {path} cannot be read ({type(error).__name__}: {error}).") from error


def _model_of(cls: type, header: dict[str, Any], held: dict[str, np.ndarray], device: str, where: arrays.Device) -> Any:
    _check_header(header)
    if header["format"] > FORMAT:
        raise ShallowsError(
            f"it was written by shallows {header['version']}, which is newer than this version, {__version__}; "
            "install that version to read it"
        )
    made_by = header["estimator"]
    if made_by != cls.__name__:
        raise ShallowsError(f"it holds a {made_by}, not a {cls.__name__}; use {made_by}.load")
    model = _with_parameters(cls, header)
    model.device, model._dtype = device, np.dtype(header["dtype"])
    if "kernel" not in header["parameters"]:
        # A kernel that the user gave as an object comes back as an object, which has its own parameters.
        model.set_params(kernel=_kernel(header["views"][0]), bandwidth=None, kernel_params=None)
    model._check_parameters()
    model._views = tuple(_view(one, place, held) for place, one in enumerate(header["views"]))
    features = model._views[0].features
    model.n_features_in_ = features.n_inputs
    if "feature_names_in_" in held:
        model.feature_names_in_ = _array(held, "feature_names_in_", (features.n_inputs,), kinds="U").astype(object)
    model.effective_params_, model.batch_size_ = header["effective"], header["batch_size"]
    model.block_size_, model.bandwidth_ = features.block_size, features.kernel.bandwidth
    model._seed_, model._solver = features.seed, cls._solver_class(**header["solver"])
    with where.active():
        like = [
            arrays.to_device(np.empty((0, view.features.width, model.n_components)), where, model._dtype)
            for view in model._views
        ]
        model._problem = model._problem_of([None] * len(like), None, 2**28)
        model._state = cls._state_class.blank(like, model.n_components)
        parts = {name.partition(".")[2]: held[name] for name in held if name.startswith("state.")}
        _check_parts(parts, model)
        model._state.recall(parts, header["state"])
    model._take_extra_arrays({name.partition(".")[2]: held[name] for name in held if name.startswith("extra.")})
    state = model._state
    model._n_batches_seen = model.n_iter_ = state.n_steps
    model.n_blocks_, model.n_revisits_ = state.n_blocks, state.n_revisits
    model.n_random_features_, model.step_size_ = state.n_blocks * model.block_size_, state.step_size
    model._set_model_attributes(state)
    return model


def _with_parameters(cls: type, header: dict[str, Any]) -> Any:
    """The unfitted estimator with the parameters of a header; one that is missing has its default."""
    defaults = cls().get_params()
    for name, value in header["parameters"].items():
        if name not in defaults:
            raise ShallowsError(f"the estimator has no parameter {name!r}")
        is_number = isinstance(value, numbers.Real)
        wrong = isinstance(value, list) or (isinstance(value, dict) and not name.endswith("kernel_params"))
        if wrong or (isinstance(defaults[name], numbers.Real) and not is_number and value is not None):
            raise ShallowsError(f"its header is wrong at 'parameters/{name}': {value!r}")
    return cls(**header["parameters"])


def _kernel(described: dict[str, Any]) -> kernels.Kernel:
    try:
        return kernels.from_description(described["kernel"])
    except (ShallowsError, TypeError, ValueError, AttributeError) as error:
        raise ShallowsError(f"it has a kernel that this version does not know: {error}") from error


def _view(described: dict[str, Any], place: int, held: dict[str, np.ndarray]) -> View:
    kernel = _kernel(described)
    options = {name: described[name] for name in ("n_inputs", "block_size", "seed", "orthogonal")}
    features = FourierFeatures(kernel, **options)
    mean = _array(held, f"mean.{place}", (features.n_inputs,))
    if not np.allclose(_array(held, f"probes.{place}", (N_PROBES,)), _probes(features), rtol=1e-6, atol=1e-9):
        raise ShallowsError(
            f"this version ({__version__}) draws other features for the kernel {kernel.name!r} and seed "
            f"{features.seed} than the one that wrote it; the coefficients mean nothing here"
        )
    return View(Centring(mean, np.ones(features.n_inputs, dtype=bool)), features, None)


def _check_parts(parts: dict[str, np.ndarray], model: Any) -> None:
    """Refuse coefficients that do not fit the features, and numbers that are none."""
    for name, array in parts.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ShallowsError(f"its array 'state.{name}' holds what are no finite numbers")
    buffers = [name for name in parts if name.rpartition(".")[2] == "buffer"]
    if len(buffers) != len(model._views):
        raise ShallowsError(f"it has coefficients of {len(buffers)} views, and {len(model._views)} descriptions")
    for name, view in zip(buffers, model._views, strict=True):
        if parts[name].ndim != 3 or parts[name].shape[1:] != (view.features.width, model.n_components):
            raise ShallowsError(
                f"its array 'state.{name}' has the shape {parts[name].shape}, expected (any, {view.features.width}, "
                f"{model.n_components})"
            )
        if parts[name].dtype != model._dtype:
            raise ShallowsError(f"its array 'state.{name}' is of type {parts[name].dtype}, expected {model._dtype}")


def _check_header(header: dict[str, Any]) -> None:
    """Refuse a header without an entry that a model needs, or with one of the wrong type."""
    import jsonschema

    for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(header):
        where = "/".join(map(str, error.absolute_path))
        said = error.message if len(error.message) <= MOST_SHOWN else f"{error.message[:MOST_SHOWN]}..."
        raise ShallowsError(f"its header is wrong{' at ' + repr(where) if where else ''}: {said}")


def _mapping(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


_WHOLE = {"type": "integer", "minimum": 1}
SCHEMA = _mapping(
    {
        "format": _WHOLE,
        "version": {"type": "string"},
        "estimator": {"type": "string"},
        "views": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": _mapping(
                {
                    "kernel": {"type": "string"},
                    "n_inputs": _WHOLE,
                    "block_size": _WHOLE,
                    "seed": {"type": "integer"},
                    "orthogonal": {"type": "boolean"},
                }
            ),
        },
        "dtype": {"enum": ["float32", "float64"]},
        "state": {"type": "object"},
        "solver": {"type": "object"},
        "parameters": {"type": "object"},
        "effective": {"type": "object"},
        "batch_size": _WHOLE,
    }
)
"""The JSON schema of a header."""


def _array(held: dict[str, np.ndarray], name: str, shape: tuple[int, ...], kinds: str = "f") -> np.ndarray:
    """An array of a file, which must be there, of the right shape and type, and finite."""
    if name not in held:
        raise ShallowsError(f"it has no array {name!r}")
    array = held[name]
    if array.shape != shape or array.dtype.kind not in kinds:
        raise ShallowsError(f"its array {name!r} has shape {array.shape} and type {array.dtype}, expected {shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ShallowsError(f"its array {name!r} holds NaN or infinity")
    return array


def _probes(features: FourierFeatures) -> np.ndarray:
    """Some of the first block's frequencies; a version that draws others cannot use the coefficients."""
    drawn = features.frequencies(0, np.empty(0)).reshape(-1)
    return drawn[np.linspace(0, drawn.size - 1, N_PROBES).astype(int)]


def _is_plain(value: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return value is None or isinstance(value, (bool, int, float, str, np.integer, np.floating, dict))


def _as_builtin(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written to a model file.")
