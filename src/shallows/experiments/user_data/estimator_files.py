"""A fitted estimator as a file that holds no code: as `shallows.save` writes it, or as the data of its fit.

scikit-learn's own estimators have no such file, so what they were fitted to is kept, and they are fitted again when
they are loaded: the same numbers, for the seconds of a fit.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shallows import saving
from shallows.atomic import replacing
from shallows.datasets.files import digest
from shallows.errors import ShallowsError

from ..running import record

NAME = "estimator.npz"
#: Only classes of this package are made by a file.
_PACKAGE = "sklearn"


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
    if kind.__module__.startswith("shallows."):
        folder.mkdir(parents=True, exist_ok=True)
        saving.save(estimator, path)
        return {"file": NAME, "sha256": digest(path), "form": "fitted"}
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
        "parameters": record.plain(estimator.get_params(deep=False)),
    }


def load(known: Mapping[str, Any], folder: Path) -> Any:
    """Restore an estimator that `save` wrote.

    Raises
    ------
    ShallowsError
        When the file is missing or another one, or names something that is no estimator of scikit-learn.
    """
    path = folder / known["file"]
    if not path.is_file() or digest(path) != known["sha256"]:
        raise ShallowsError(
            f"{path} is missing, or is not the file that was written with the rest of the model. Copy the whole folder."
        )
    if known["form"] == "fitted":
        return saving.load(path)
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


def _class(place: str) -> Any:
    from sklearn.base import BaseEstimator

    module, _, name = place.partition(":")
    found = None
    if module.partition(".")[0] == _PACKAGE:
        found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, BaseEstimator)):
        raise ShallowsError(f"{place} is no estimator of {_PACKAGE}, and is not made from a file.")
    return found
