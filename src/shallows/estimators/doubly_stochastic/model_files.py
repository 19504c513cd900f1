"""Saving and loading of random feature expansions: coefficients, seed and parameters, no data and no features."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import warnings
from typing import Any

import numpy as np

from ... import __version__, arrays, kernels, losses
from ...errors import ShallowsError
from ...features.fourier import FourierFeatures
from ...solvers.expansions.block_policies import POLICIES
from ...solvers.expansions.doubly_stochastic import DoublyStochastic
from ...solvers.expansions.expansion import ExpansionProblem, ExpansionState
from .. import archive
from ..centring import Centring
from . import model_file_checks

FORMAT = 1
"""Version of the files; raised when older files would be read in another sense."""

N_PROBES = 16


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file, which has its final name only once it is complete."""
    state, features = model._state, model._features
    if not state.is_finite():
        raise ShallowsError(f"The model's coefficients are no longer finite numbers; it is not written to {path}.")
    held, numbers = state.remember()
    target_arrays, target_options = model._targets_to_file()
    header = {
        "format": FORMAT,
        "version": __version__,
        "estimator": type(model).__name__,
        "kernel": kernels.described(features.kernel),
        "loss": _described(model._problem.loss),
        "loss_asked_for": _described(model.loss),
        "solver": {**_parameters(model._solver), "policy": _described(model._solver.policy)},
        "features": {
            "n_inputs": features.n_inputs,
            "block_size": features.block_size,
            "seed": features.seed,
            "form": features.form,
            "orthogonal": features.orthogonal,
        },
        "dtype": model._dtype.name,
        "n_outputs": model._problem.n_outputs,
        "growth": model._problem.growth if math.isfinite(model._problem.growth) else None,
        "state": numbers,
        "parameters": {name: value for name, value in model.get_params().items() if _is_plain(value)},
        "effective": model.effective_params_,
        "targets": target_options,
        "mean_weight": model._mean_weight,
    }
    held |= {"mean": model._centring.mean, "probes": _probes(features), **target_arrays}
    if hasattr(model, "feature_names_in_"):
        held["feature_names_in_"] = np.asarray(model.feature_names_in_, dtype=str)
    archive.write(path, json.loads(json.dumps(header, default=_as_builtin)), held)


def load(cls: type, path: Any, device: str) -> Any:
    """Read a model that `save` wrote, or raise an error that says why it cannot be read.

    Whatever is wrong with the file is found here and not at a prediction.
    """
    where = arrays.resolve_device(device)
    header, held = archive.read(path)
    try:
        model = _model_of(cls, copy.deepcopy(header), dict(held), device, where)
        # Files of versions before this one have no checksum. What a check foresaw is told by that check.
        if "checksum" in header:
            archive.check_unchanged(header, held)
        return model
    except ShallowsError as error:
        raise ShallowsError(f"The model in {path} cannot be read: {str(error).rstrip('.')}.") from error
    # What no check foresaw is an edited file all the same.
    except Exception as error:
        raise ShallowsError(f"The model in {path} cannot be read ({type(error).__name__}: {error}).") from error


def _model_of(cls: type, header: dict[str, Any], held: dict[str, np.ndarray], device: str, where: arrays.Device) -> Any:
    """The model that a header and arrays describe."""
    made_by, format_ = header.get("estimator"), header.get("format")
    if not isinstance(format_, int) or format_ is True or format_ < 1 or not isinstance(made_by, str):
        raise ShallowsError("its header does not say the estimator and the format")
    if format_ > FORMAT:
        raise ShallowsError(
            f"it was written by shallows {header.get('version')}, which is newer than this version, {__version__}; "
            "install that version to read it"
        )
    if made_by != cls.__name__:
        raise ShallowsError(f"it holds a {made_by}, not a {cls.__name__}; use {made_by}.load")
    model_file_checks.check_header(header, POLICIES)
    try:
        kernel = kernels.from_description(header["kernel"])
    except (ShallowsError, TypeError, ValueError, AttributeError) as error:
        raise ShallowsError(f"it has a kernel that this version does not know: {error}") from error
    features = FourierFeatures(kernel, **header["features"])
    model_file_checks.check_arrays(held, header, features.width, N_PROBES)
    if not np.allclose(held.pop("probes"), _probes(features), rtol=1e-6, atol=1e-9):
        raise ShallowsError(
            f"this version ({__version__}) draws other features for the kernel {kernel.name!r} and seed "
            f"{features.seed} than the one that wrote it ({header.get('version')}); the coefficients mean nothing here"
        )
    model = _with_parameters(cls, header, kernel).set_params(device=device)
    loss = _loss(header["loss"])
    if "loss" in model.get_params():
        cls(loss=loss)._check_loss()
    elif loss.coding != "offset":
        raise ShallowsError(f"the loss {loss.name!r} is none for {cls.__name__}")
    model._features, model._dtype = features, np.dtype(header["dtype"])
    model.n_features_in_ = features.n_inputs
    model._centring = Centring(held.pop("mean"), np.ones(features.n_inputs, dtype=bool))
    growth = math.inf if header["growth"] is None else header["growth"]
    model._problem = ExpansionProblem(features, loss, header["n_outputs"], growth=growth)
    model.effective_params_ = header["effective"]
    model.block_size_, model.batch_size_ = features.block_size, model.effective_params_["batch_size"]
    model.bandwidth_, model._seed_ = kernel.bandwidth, features.seed
    model._mean_weight = header["mean_weight"]
    if "feature_names_in_" in held:
        model.feature_names_in_ = held.pop("feature_names_in_").astype(object)
    model._targets_from_file(held, header["targets"])
    numbers = header["state"]
    empty = arrays.to_device(np.empty(0), where, model._dtype)
    state = ExpansionState(empty, empty, numbers["step_size"])
    with where.active():
        state.recall(held, numbers)
    model._state, model._n_batches_seen = state, state.n_steps
    policy, options = header["solver"].pop("policy")
    model._solver = DoublyStochastic(**header["solver"], policy=POLICIES[policy](**options))
    model.n_iter_, model.n_blocks_, model.n_reused_ = state.n_steps, state.n_blocks, state.n_reused
    model.n_random_features_ = state.n_blocks * features.block_size
    return model


def _with_parameters(cls: type, header: dict[str, Any], kernel: kernels.Kernel) -> Any:
    """The unfitted estimator with the parameters of a header, which must be some that a fit accepts."""
    parameters = header["parameters"]
    model_file_checks.check_parameters(parameters, cls().get_params())
    model = cls(**parameters)
    # A kernel or loss that the user gave as an object comes back as an object, which has its own parameters.
    if "kernel" not in parameters:
        model.set_params(kernel=kernel, bandwidth=None, kernel_params=None)
    if "loss" in model.get_params() and "loss" not in parameters:
        model.loss = _loss(header["loss_asked_for"])
    kernels.kind(model.kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # The fit has said it.
        model._check_parameters()
    return model


def _probes(features: FourierFeatures) -> np.ndarray:
    """Some of the first block's frequencies; a version that draws others cannot use the coefficients."""
    drawn = features.frequencies(0, np.empty(0)).reshape(-1)
    return drawn[np.linspace(0, drawn.size - 1, N_PROBES).astype(int)]


def _parameters(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that a file can hold."""
    if not dataclasses.is_dataclass(thing):
        return {}
    return {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing) if _is_plain(getattr(thing, f.name))}


def _described(thing: Any) -> list[Any]:
    """A loss or a policy as its name and its parameters."""
    return [thing, {}] if isinstance(thing, str) else [thing.name, _parameters(thing)]


def _loss(described: list[Any]) -> losses.Loss:
    return losses.make(described[0], **described[1])


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, np.integer, np.floating, dict))


def _as_builtin(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written to a model file.")
