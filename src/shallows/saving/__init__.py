"""Fitted models as files of skops, for every estimator: no pickle, and a checksum."""

import contextlib
import copy
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..errors import MissingExtraError, ShallowsError
from ..features.fourier import FourierMap
from ..features.random_features import RandomFeatures
from ..fitting.machine import Options
from . import archive

__all__ = ["load", "save"]

N_FREQUENCIES = 8
"""Number of frequencies of random features in a file, to recognize a version that draws others."""


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file, without pickle.

    A model of kernel functions contains its training points, a model of random features only their seed. The waiting
    rows of a stream (``partial_fit``) are saved too, so that the stream continues as if it had not been saved.

    Parameters
    ----------
    model : estimator
        Fitted: an estimator of shallows, or a pipeline of such estimators and scikit-learn's.
    path : path
        Usually ends in ``.skops``.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ShallowsError
        If the model contains a function or a class of another package, or coefficients that are not finite.
    """
    if not isinstance(model, BaseEstimator):
        raise ShallowsError(f"shallows.save writes fitted estimators, and got a {type(model).__name__}.")
    check_is_fitted(model)
    state = getattr(model, "_state", None)
    if state is not None and hasattr(state, "is_finite") and not state.is_finite():
        raise ShallowsError(f"The model's coefficients are no longer finite numbers; it is not written to {path}.")
    model = _with_plain_keys(model)
    archive.write(model, path, estimator=type(model).__name__, drawn=_first_draws(model))


def load(path: Any, *, device: str = "auto") -> Any:
    """Read a model that `save` wrote. Its predictions are identical, and a stream continues.

    Files that need more memory than is free are refused before they are read.

    Parameters
    ----------
    path : path
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the model predicts. The file may come from another machine.

    Returns
    -------
    estimator

    Raises
    ------
    ShallowsError
        If `save` did not write the file, or it was changed, is damaged, or comes from a version with another format.
    """
    model, about = archive.read(path)
    with archive.errors_name(path):
        check_is_fitted(model)
        drawn = _first_draws(model)
        if len(drawn) != len(about["drawn"]) or not all(map(_are_close, drawn, about["drawn"])):
            raise ShallowsError("this version draws other features for its kernel and seed than the one that wrote it")
        for part in _parts(model):
            if isinstance(part, BaseEstimator):
                _set_device(part, device)
        _try_prediction(model)
    return model


def _set_device(model: BaseEstimator, device: str) -> None:
    parameters = model.get_params(deep=False)
    if "device" in parameters:
        model.set_params(device=device)
    elif isinstance(parameters.get("options"), Options) or ("options" in parameters and device != "auto"):
        model.set_params(options__device=device)


def _try_prediction(model: Any) -> None:
    """Predict one row, which fails if the parts of the model do not fit together."""
    if not type(model).__module__.startswith("shallows"):
        return
    predict = model.predict if hasattr(model, "predict") else model.transform
    # A net needs PyTorch to predict, which may be missing.
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(MissingExtraError):
        warnings.simplefilter("ignore")
        predict(np.zeros((1, model.n_features_in_)))


def _parts(model: Any) -> Iterator[Any]:
    """The model and every object in it, each once and in a fixed order; no arrays, numbers or texts."""
    seen, waiting = {}, [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, (type, np.ndarray, np.generic)):
            continue
        seen[id(part)] = part
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif hasattr(part, "__dict__"):
            waiting += vars(part).values()
        else:
            continue
        yield part


def _first_draws(model: Any) -> list[list[float]]:
    """Some numbers of each map of random features: a version that draws others cannot use the model."""
    found = []
    for part in _parts(model):
        if isinstance(part, FourierMap):
            found.append(part.frequencies(0, np.empty(0)).reshape(-1)[:N_FREQUENCIES].tolist())
        elif isinstance(part, RandomFeatures):
            found.append(part.block(0, np.linspace(0.5, 1.0, part.n_inputs)[None, :])[0, -N_FREQUENCIES:].tolist())
    return found


def _are_close(first: list[float], second: list[float]) -> bool:
    return len(first) == len(second) and np.allclose(first, second, rtol=1e-6)


def _with_plain_keys(model: Any) -> Any:
    """The model with the keys 0 and 1 for False and True, which are equal to them and which skops would confuse.

    They are the classes in ``class_weight``.
    """

    def has_truth_values(part: Any) -> bool:
        return isinstance(part, Mapping) and any(isinstance(key, (bool, np.bool_)) for key in part)

    def replace_keys(value: Any) -> Any:
        if type(value) is not dict:
            return value
        return {int(k) if isinstance(k, (bool, np.bool_)) else k: replace_keys(entry) for k, entry in value.items()}

    if any(map(has_truth_values, _parts(model))):
        model = copy.copy(model)
        vars(model).update(replace_keys(vars(model)))
        if any(map(has_truth_values, _parts(model))):
            raise ShallowsError(
                "A dictionary in the model has the keys True and False, which a file cannot contain. Use 1 and 0, "
                "which are equal to them."
            )
    return model
