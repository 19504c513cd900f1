"""Checks of what a model file holds, made before a model is built of it: a file may have been edited or damaged."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any

import numpy as np

from ...errors import ShallowsError
from ...solvers.expansions.doubly_stochastic import PRECONDITIONINGS, DoublyStochastic
from ...solvers.expansions.expansion import ExpansionState

MOST_SHOWN = 300
"""Characters of a message about a header: its values may be long."""


def check_header(header: dict[str, Any], policies: Any) -> None:
    """Refuse a header without an entry that a model needs, or with one of the wrong type.

    Parameters
    ----------
    header : dict
    policies : iterable of str
        Names of the policies for choosing blocks.
    """
    import jsonschema

    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, value: _is_real(value) and math.isfinite(value),
            "real": lambda _, value: _is_real(value),
        }
    )
    validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=checker)
    for error in validator(_schema(list(policies))).iter_errors(header):
        where = "/".join(map(str, error.absolute_path))
        said = error.message if len(error.message) <= MOST_SHOWN else f"{error.message[:MOST_SHOWN]}..."
        raise ShallowsError(f"its header is wrong{' at ' + repr(where) if where else ''}: {said}")


def check_parameters(given: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Refuse parameters that an estimator does not have, and values that are of no type it could have been fitted with.

    One that is missing has its default: the estimator may have gained it since the file was written.

    Parameters
    ----------
    given : dict
        Those of the file.
    defaults : dict
        Those of the estimator.
    """
    for name, value in given.items():
        if name not in defaults:
            raise ShallowsError(f"the estimator has no parameter {name!r}")
        is_number = isinstance(value, numbers.Real)
        wrong = isinstance(value, list) or (isinstance(value, dict) and name != "kernel_params")
        wrong = wrong or (is_number and math.isnan(value))
        if wrong or (isinstance(defaults[name], numbers.Real) and not is_number and value is not None):
            raise ShallowsError(f"its header is wrong at 'parameters/{name}': {value!r}")


def check_array(
    held: dict[str, np.ndarray], name: str, shape: tuple[int | None, ...], *, kinds: str = "f", dtype: Any = None
) -> np.ndarray:
    """Return an array of a file, which must be there, of the right shape and type, and without NaN or infinity.

    Parameters
    ----------
    held : dict of arrays
    name : str
    shape : tuple
        None where any length will do.
    kinds : str
        NumPy's letters of the kinds of numbers or texts that the array may hold.
    dtype : dtype, optional
        The one it must have, in either order of bytes.
    """
    if name not in held:
        raise ShallowsError(f"it has no array {name!r}")
    array = held[name]
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise ShallowsError(f"its array {name!r} has the shape {array.shape}, expected ({expected})")
    if array.dtype.kind not in kinds or (dtype is not None and array.dtype.newbyteorder("=") != np.dtype(dtype)):
        expected = "" if dtype is None else f", expected {np.dtype(dtype).name}"
        raise ShallowsError(f"its array {name!r} is of type {array.dtype}{expected}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ShallowsError(f"its array {name!r} holds NaN or infinity")
    return array


def check_arrays(held: dict[str, np.ndarray], header: dict[str, Any], width: int, n_probes: int) -> None:
    """Refuse coefficients, means and names that do not fit the header.

    Parameters
    ----------
    held : dict of arrays
    header : dict
        After `check_header`.
    width : int
        Columns of a block of features.
    n_probes : int
        How many frequencies the file holds.
    """
    n_blocks, c, d = header["state"]["n_blocks"], header["n_outputs"], header["features"]["n_inputs"]
    check_array(held, "mean", (d,), dtype=np.float64)
    check_array(held, "probes", (n_probes,), dtype=np.float64)
    check_array(held, "buffer", (n_blocks, width, c), dtype=header["dtype"])
    check_array(held, "trace_buffer", (n_blocks, c), dtype=header["dtype"])
    if "direction" in held:
        check_array(held, "direction", (width, c), dtype=header["dtype"])
        if not 0 <= header["state"]["direction_block"] < n_blocks:
            raise ShallowsError(f"its header names block {header['state']['direction_block']} of {n_blocks}")
    if "counts" in held:
        check_array(held, "counts", (c + 2,), dtype=np.float64)
    if "mixing" in held:
        check_array(held, "mixing", (c, c), dtype=np.float64)
    if "feature_names_in_" in held:
        check_array(held, "feature_names_in_", (d,), kinds="U")


def _schema(policies: list[str]) -> dict[str, Any]:
    """The JSON schema of a header; what solver and state hold is read off their classes."""
    empty = np.empty(0)
    state = _mapping(_types(ExpansionState(empty, empty, 0.0).remember()[1]))
    # Of the last batch, which may have been one too much; the function does not depend on them.
    state["properties"] |= {name: {"type": "real"} for name in ("loss", "zero_loss", "loss_seen", "mean_zero_loss")}
    state["properties"] |= {"direction_block": _whole(-1)}
    # Files of the first version have none of these, whose defaults are what they did.
    later = {"shrunk", "direction_shrinkage", "rows_seen", "loss_seen", "mean_zero_loss"}
    state["required"] = [name for name in state["required"] if name not in later]
    solver = {field.name: getattr(DoublyStochastic(1.0), field.name) for field in dataclasses.fields(DoublyStochastic)}
    others = ("policy", "preconditioning", "theta_nu")
    solver = _types({name: value for name, value in solver.items() if name not in others})
    solver |= {
        name: {"type": "number", "minimum": 0} for name in ("decrease", "regularisation", "damping", "damping_of_batch")
    }
    solver |= {
        "seed": {"type": "integer"},
        "policy": _named({"enum": policies}),
        "preconditioning": {"enum": list(PRECONDITIONINGS)},
    }
    solver["theta_nu"] = {"type": ["number", "null"], "exclusiveMinimum": 0}
    solver = _mapping(solver) | {"required": [name for name in solver if name not in ("damping_of_batch", "theta_nu")]}
    features = {"n_inputs": _whole(1), "block_size": _whole(1), "seed": {"type": "integer"}}
    features |= {"form": {"type": "string"}, "orthogonal": {"type": "boolean"}}
    precision = {"enum": ["float32", "float64"]}
    return _mapping(
        {
            "kernel": {"type": "string"},
            "loss": _named({"type": "string"}),
            "loss_asked_for": _named({"type": "string"}),
            "solver": solver,
            "features": _mapping(features),
            "dtype": precision,
            "n_outputs": _whole(1),
            "growth": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "state": {**state, "additionalProperties": False},
            "parameters": {"type": "object"},
            "effective": _mapping({"batch_size": _whole(1), "precision": precision}),
            "targets": {"type": "object"},
            "mean_weight": {"type": "number", "exclusiveMinimum": 0},
        }
    )


def _mapping(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _whole(least: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least}


def _named(name: dict[str, Any]) -> dict[str, Any]:
    """A name and its parameters, as a list of two."""
    parameters = {"type": "object", "additionalProperties": {"type": ["real", "null"]}}
    return {"type": "array", "prefixItems": [name, parameters], "minItems": 2, "maxItems": 2}


def _types(values: dict[str, Any]) -> dict[str, Any]:
    """Schemas of the types that some values have."""
    kinds = {bool: {"type": "boolean"}, int: _whole(0), float: {"type": "number"}}
    return {name: kinds[type(value)] for name, value in values.items()}


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
