"""Fitted models as files, for every estimator: parameters and arrays with a checksum, and no pickle.

A file is an archive of NumPy's (.npz) with a header in JSON, so that to load it runs nothing that it holds.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..errors import MissingExtraError, ShallowsError
from ..estimators import archive
from . import encoding

__all__ = ["load", "save"]

FORMAT = 3
"""Version of the files; raised when older files would be read in another sense."""

ROOMS = ("shallows.estimators", "shallows_papers.nets")
"""Modules of the estimators that can be saved; the nets of the reproduction are imported only for a file of one."""


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file: its parameters and what it has learnt, no training data beyond that.

    A model of kernel functions holds the training points that they are centred at; one of random features holds their
    seed. A stream that waits for rows (see ``partial_fit`` of the estimator) holds those that wait, so that it goes on
    from the file as if it had not been saved.

    Parameters
    ----------
    model : estimator of this package
        Fitted. A pipeline is saved step by step.
    path : path
        Usually ends in ``.npz``.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ShallowsError
        If it is none of this package's, has a part that no file holds, such as a function of the user's, or has
        coefficients that are no numbers any more.
    """
    name = type(model).__name__
    if _class_of(name) is not type(model):
        raise ShallowsError(
            f"shallows.save writes the estimators of this package, and {name} is none of them. Save the steps of a "
            "pipeline one by one."
        )
    check_is_fitted(model)
    state = vars(model).get("_state")
    if hasattr(state, "is_finite") and not state.is_finite():
        raise ShallowsError(f"The model's coefficients are no longer finite numbers; it is not written to {path}.")
    writer = encoding.Writer()
    header = {
        "format": FORMAT,
        "version": __version__,
        "estimator": name,
        **writer.parts_of(model),
    }
    archive.write(path, header, writer.held)


def load(path: Any, *, device: str = "auto") -> Any:
    """Read a model that `save` wrote; it predicts, and goes on with further batches, the same to the bit.

    Parameters
    ----------
    path : path
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the model is to predict; the file may come from another machine.

    Returns
    -------
    estimator

    Raises
    ------
    ShallowsError
        If the file is none of these, was changed, is damaged, comes from a newer version, or from one whose form is no
        longer read.
    """
    header, held = archive.read(path)
    try:
        name, format_ = header.get("estimator"), header.get("format")
        cls = _class_of(name)
        if cls is None and isinstance(name, str) and name.isidentifier() and name[0].isupper():
            raise ShallowsError(
                f"it is {name}, which this version, {__version__}, does not have; CHANGELOG.md says what took its "
                "place, to be fitted again"
            )
        if cls is None or not isinstance(format_, int) or format_ is True or format_ < 1:
            raise ShallowsError("its header does not say the estimator and the format")
        if format_ > FORMAT:
            raise ShallowsError(
                f"it was written by shallows {header.get('version')}, which is newer than this version, "
                f"{__version__}; install that version to read it"
            )
        if format_ < FORMAT:
            raise ShallowsError(
                f"its form is that of shallows {header.get('version')}, which this version, {__version__}, does not "
                "read; fit the model again, or install that version to read it"
            )
        archive.check_unchanged(header, held)
        model = _model_of(cls, header, encoding.Reader(held))
        return model.set_params(device=device) if "device" in model.get_params(deep=False) else model
    except ShallowsError as error:
        if str(path) in str(error):
            raise
        raise ShallowsError(f"The model in {path} cannot be read: {str(error).rstrip('.')}.") from error
    # What no check foresaw is an edited file all the same.
    except Exception as error:
        raise ShallowsError(f"The model in {path} cannot be read ({type(error).__name__}: {error}).") from error


def _model_of(cls: type, header: dict[str, Any], reader: encoding.Reader) -> Any:
    """The model of a header, tried by a prediction, which shows that its parts fit together."""
    model = reader.estimator(cls, header)
    check_is_fitted(model)
    predict = model.predict if hasattr(model, "predict") else model.transform
    # A net needs PyTorch to predict, and may be loaded where there is none.
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(MissingExtraError):
        warnings.simplefilter("ignore")
        predict(np.zeros((1, model.n_features_in_)))
    return model


def _class_of(name: Any) -> type | None:
    if not (isinstance(name, str) and name[:1].isupper()):
        return None
    for room in ROOMS:
        with contextlib.suppress(ModuleNotFoundError):
            module = importlib.import_module(room)
            if name in module.__all__:
                found = getattr(module, name)
                return found if isinstance(found, type) and hasattr(found, "fit") else None
    return None
