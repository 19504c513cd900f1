"""A fitted estimator as a file that holds no code: as `shallows.save` writes it, or as the data of its fit.

scikit-learn's own estimators have no such file, so what they were fitted to is kept, and they are fitted again when
they are loaded: the same numbers, for the seconds of a fit.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shallows.atomic import replacing
from shallows.datasets.files import digest
from shallows.errors import ShallowsError

from ..running import record

NAME = "estimator.npz"
#: Only classes of these packages are made by a file.
_PACKAGES = ("shallows", "sklearn")


def save(estimator: Any, x: Any, y: np.ndarray, folder: Path) -> dict[str, Any]:
    """Write a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        Its parameters are plain data.
    x, y : array or csr_matrix
        What it was fitted to.
    folder : Path

    Returns
    -------
    dict
        What `load` has to know besides the file.
    """
    kind, path = type(estimator), folder / NAME
    if kind.__module__.startswith("shallows.") and (saving := _saving()) is not None:
        folder.mkdir(parents=True, exist_ok=True)
        saving.save(estimator, path)
        return {"file": NAME, "sha256": digest(path), "form": "fitted"}
    parameters = record.plain(estimator.get_params(deep=False))
    held = {"y": y}
    if hasattr(x, "indptr"):
        held |= {"data": x.data, "indices": x.indices, "indptr": x.indptr, "shape": np.asarray(x.shape)}
    else:
        held["x"] = x
    with replacing(path) as partial, open(partial, "wb") as file:
        np.savez_compressed(file, **held)
    return {
        "file": NAME,
        "sha256": digest(path),
        "form": "to be fitted",
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "parameters": {**parameters, **({"device": "auto"} if "device" in parameters else {})},
    }


def load(known: Mapping[str, Any], folder: Path) -> Any:
    """Restore an estimator that `save` wrote.

    Raises
    ------
    ShallowsError
        When the file is missing or another one, or names something that is no estimator of these packages.
    """
    path = folder / known["file"]
    if not path.is_file() or digest(path) != known["sha256"]:
        raise ShallowsError(
            f"{path} is missing, or is not the file that was written with the rest of the model. Copy the whole folder."
        )
    if known["form"] == "fitted":
        return _saving().load(path)
    kind = _class(known["class"])
    with np.load(path, allow_pickle=False) as held:
        y = held["y"]
        if "indptr" in held:
            from scipy.sparse import csr_matrix

            x = csr_matrix((held["data"], held["indices"], held["indptr"]), shape=tuple(held["shape"]))
        else:
            x = held["x"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The first fit has said it.
        return kind(**known["parameters"]).fit(x, y)


def _saving() -> Any:
    """The package's own files of fitted estimators; None in a version that has none."""
    found = importlib.util.find_spec("shallows.saving")
    return importlib.import_module("shallows.saving") if found else None


def _class(place: str) -> Any:
    from sklearn.base import BaseEstimator

    module, _, name = place.partition(":")
    found = None
    if module.partition(".")[0] in _PACKAGES:
        found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, BaseEstimator)):
        raise ShallowsError(f"{place} is no estimator of {' or '.join(_PACKAGES)}, and is not made from a file.")
    return found
