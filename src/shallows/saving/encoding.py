"""Parts of models as JSON and arrays, and back: numbers, texts, arrays, and objects of the types that are named here.

None, truth values, finite numbers and texts stand for themselves; all else becomes a mapping of one entry, whose key
says what it is, and an object one with the name of its class and its fields.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import LabelBinarizer

from .. import arrays, kernels
from ..errors import ShallowsError
from ..features import Blocks
from ..features.fourier import FourierFeatures
from ..features.landmarks import NystromFeatures
from ..features.random_features import RandomFeatures
from ..kernels import Kernel, Precomputed

ROOMS = ("estimators", "features", "losses", "solvers", "spectrum")
"""Rooms of this package whose dataclasses may be parts of a model."""

N_FREQUENCIES = 8
"""How many frequencies of random Fourier features a file holds."""

_PACKAGE = __name__.partition(".")[0]


class Writer:
    """Turns values into JSON and arrays.

    ``held`` has the arrays by the names that the JSON refers to; one that stands in several places is there once.
    """

    def __init__(self) -> None:
        self.held: dict[str, np.ndarray] = {}
        # With each array itself, since an id belongs to another object once the first is gone.
        self._names: dict[int, tuple[str, np.ndarray]] = {}

    def encode(self, value: Any, place: str) -> Any:
        """What stands for a value in the header; the error about one that no file holds names its ``place``."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, np.generic):
            return {"scalar": self._hold(np.asarray(value))}
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, Path):
            return {"path": str(value)}
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.encode(one, place) for one in value]}
        if isinstance(value, slice):
            return {"slice": [self.encode(one, place) for one in (value.start, value.stop, value.step)]}
        if isinstance(value, Mapping):
            return {"dict": [[self.encode(key, place), self.encode(one, place)] for key, one in value.items()]}
        if scipy.sparse.issparse(value):
            rows = scipy.sparse.csr_array(value)
            parts = (rows.data, rows.indices, rows.indptr, rows.shape)
            return {"csr": [isinstance(value, scipy.sparse.spmatrix), *(self.encode(one, place) for one in parts)]}
        if arrays.is_sparse(value):
            return {"sparse_points": [self.encode(value.rows, place), self.encode(value.tail, place)]}
        if isinstance(value, np.random.RandomState):
            return {"random_state": [self.encode(one, place) for one in value.get_state()]}
        return self._encode_object(value, place)

    def parts_of(self, estimator: BaseEstimator, place: str = "") -> dict[str, dict[str, Any]]:
        """The parameters of an estimator and what its fit has set."""
        parameters = estimator.get_params(deep=False)
        fitted = {key: value for key, value in vars(estimator).items() if key not in parameters}
        return {
            part: {key: self.encode(value, place or key) for key, value in held.items()}
            for part, held in (("parameters", parameters), ("fitted", fitted))
        }

    def _encode_object(self, value: Any, place: str) -> Any:
        if isinstance(value, Kernel):
            return {"kernel": None if isinstance(value, Precomputed) else kernels.described(value)}
        if isinstance(value, Blocks):
            n_features = value.n_features if value.features.streamed else None
            return {"blocks": [self.encode(value.features, place), n_features]}
        if isinstance(value, LabelBinarizer):
            return {"label_binarizer": {name: self.encode(one, place) for name, one in vars(value).items()}}
        cls = type(value)
        if isinstance(value, BaseEstimator) and _is_of_this_package(cls.__module__):
            return {"estimator": {"class": f"{cls.__module__}:{cls.__qualname__}", **self.parts_of(value, place)}}
        if dataclasses.is_dataclass(value) and _is_of_this_package(cls.__module__):
            value = value.trimmed() if hasattr(value, "trimmed") else value
            fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
            # What a map has computed from its landmarks once would not come out the same to the bit everywhere.
            computed = {"root": value.root} if isinstance(value, NystromFeatures) else {}
            return {
                "object": f"{cls.__module__}:{cls.__qualname__}",
                "fields": {name: self.encode(one, place) for name, one in fields.items()},
                "computed": {name: self.encode(one, place) for name, one in computed.items()},
                "drawn": _drawn(value),
            }
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            if value.dtype == object and not all(isinstance(one, str) for one in value.ravel()):
                return {"objects": [self.encode(value.shape, place), self.encode(value.ravel().tolist(), place)]}
            return {"array": self._hold(arrays.to_numpy(value))}
        named = getattr(value, "__name__", None)
        said = f"the function {named!r}" if callable(value) and named else f"a {cls.__name__}"
        raise ShallowsError(
            f"{place} of the model is {said}, which cannot be written to a file. Give a name or an object of this "
            "package for it, or keep the model with pickle, and load no pickle that you do not trust."
        )

    def _hold(self, array: np.ndarray) -> str:
        if id(array) not in self._names:
            name, is_text = f"array{len(self.held)}", array.dtype == object
            name += " of objects" if is_text else ""  # by which a `Reader` gives texts the same type again
            self.held[name], self._names[id(array)] = array.astype(str) if is_text else array, (name, array)
        return self._names[id(array)][0]


class Reader:
    """Turns JSON and arrays into the values that a `Writer` was given."""

    def __init__(self, held: Mapping[str, np.ndarray]):
        self._held = {name: one.astype(object) if name.endswith("of objects") else one for name, one in held.items()}
        self._made: dict[str, Any] = {}

    def decode(self, coded: Any) -> Any:
        """The value of a piece of the header; an error where `Writer.encode` gives no such piece."""
        if isinstance(coded, list):
            raise ShallowsError("its header holds a list where none is written")
        if not isinstance(coded, dict):
            return coded
        if "object" in coded:
            return self._object(coded)
        if len(coded) != 1 or (kind := next(iter(coded))) not in _DECODERS:
            raise ShallowsError(f"its header holds {str(coded)[:100]}, which is no part of a model")
        return _DECODERS[kind](self, coded[kind])

    def all(self, coded: Any) -> list[Any]:
        """The values of a list of pieces."""
        return [self.decode(one) for one in coded]

    def array(self, name: Any) -> np.ndarray:
        """An array of the file."""
        if name not in self._held:
            raise ShallowsError(f"it has no array {name!r}")
        return self._held[name]

    def estimator(self, cls: type, coded: dict[str, Any]) -> BaseEstimator:
        """The estimator of a class whose parts `Writer.parts_of` gave."""
        for part in ("parameters", "fitted"):
            if not isinstance(coded.get(part), dict):
                raise ShallowsError(f"its header has no {part}")
        parameters = {key: self.decode(value) for key, value in coded["parameters"].items()}
        known = cls().get_params(deep=False)
        if unknown := sorted(parameters.keys() - known.keys()):
            raise ShallowsError(f"the estimator has no parameter {unknown[0]!r}")
        made = cls(**parameters)
        for name, value in coded["fitted"].items():
            if not re.fullmatch(r"_?[a-z]\w*", name) or hasattr(cls, name) or name in known:
                raise ShallowsError(f"it has an attribute {name!r}, which is none that a fit sets")
            setattr(made, name, self.decode(value))
        return made

    def _object(self, coded: dict[str, Any]) -> Any:
        cls = _class_of(coded["object"], dataclasses.is_dataclass)
        name = cls.__name__
        made = cls(**{key: self.decode(value) for key, value in coded["fields"].items()})
        for key, value in coded.get("computed", {}).items():
            if not isinstance(getattr(cls, key, None), cached_property):
                raise ShallowsError(f"it has a value for {key!r} of {name}, which computes no such value")
            vars(made)[key] = self.decode(value)
        if (drawn := _drawn(made)) and not np.allclose(coded["drawn"], drawn, rtol=1e-6):
            raise ShallowsError("this version draws other features for its kernel and seed than the one that wrote it")
        # Features that stand in several places are one object, with one cache.
        return self._made.setdefault(json.dumps(coded), made) if cls.__dataclass_params__.frozen else made


def _drawn(value: Any) -> list[float]:
    """Some numbers of the first block of random features: a version that draws others cannot use the model."""
    if isinstance(value, FourierFeatures):
        return value.frequencies(0, np.empty(0)).reshape(-1)[:N_FREQUENCIES].tolist()
    if isinstance(value, RandomFeatures):
        return value.block(0, np.linspace(0.5, 1.0, value.n_inputs)[None, :])[0, -N_FREQUENCIES:].tolist()
    return []


def _is_of_this_package(module: str) -> bool:
    package, _, rest = module.partition(".")
    return (package == _PACKAGE and rest.partition(".")[0] in ROOMS) or module.startswith("shallows_papers.nets.")


def _class_of(place: Any, fits: Callable[[type], bool]) -> type:
    """The class of a part of a model, written ``module:name``."""
    module, _, name = str(place).partition(":")
    cls = getattr(importlib.import_module(module), name, None) if _is_of_this_package(module) else None
    if not (isinstance(cls, type) and fits(cls) and cls.__module__ == module):
        raise ShallowsError(f"it has a part of the type {place!r}, which this version does not know")
    return cls


def _objects(reader: Reader, coded: Any) -> np.ndarray:
    shape, entries = reader.all(coded)
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made.reshape(shape)


def _csr(reader: Reader, coded: Any) -> Any:
    is_matrix, *parts = coded
    data, indices, indptr, shape = reader.all(parts)
    return (scipy.sparse.csr_matrix if is_matrix else scipy.sparse.csr_array)((data, indices, indptr), shape=shape)


def _random_state(reader: Reader, coded: Any) -> np.random.RandomState:
    made = np.random.RandomState()
    made.set_state(tuple(reader.all(coded)))
    return made


def _label_binarizer(reader: Reader, coded: Any) -> LabelBinarizer:
    made = LabelBinarizer()
    for name, value in coded.items():
        setattr(made, name, reader.decode(value))
    return made


def _number(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ShallowsError(f"its header holds {text!r} for a number")
    return float(text)


_DECODERS: dict[str, Any] = {
    "float": lambda reader, coded: _number(coded),
    "array": lambda reader, coded: reader.array(coded),
    "scalar": lambda reader, coded: reader.array(coded)[()],
    "dtype": lambda reader, coded: np.dtype(coded),
    "path": lambda reader, coded: Path(coded),
    "list": lambda reader, coded: reader.all(coded),
    "tuple": lambda reader, coded: tuple(reader.all(coded)),
    "slice": lambda reader, coded: slice(*reader.all(coded)),
    "dict": lambda reader, coded: {reader.decode(key): reader.decode(value) for key, value in coded},
    "objects": _objects,
    "csr": _csr,
    "sparse_points": lambda reader, coded: arrays.SparsePoints(*reader.all(coded)),
    "random_state": _random_state,
    "kernel": lambda reader, coded: Precomputed(None) if coded is None else kernels.from_description(coded),
    "blocks": lambda reader, coded: Blocks(reader.decode(coded[0]), coded[1]),
    "estimator": lambda reader, coded: reader.estimator(
        _class_of(coded["class"], lambda cls: issubclass(cls, BaseEstimator)), coded
    ),
    "label_binarizer": _label_binarizer,
}
"""How a piece of the header is read, by the key that says what it is."""
