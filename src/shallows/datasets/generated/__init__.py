"""Generated data: example i of a seed is a function of both, the same on every machine and never stored.

>>> from shallows.datasets import generated
>>> data = generated.make("fourier_teacher", seed=0, dimension=20)
>>> x, y = data.block(1_000_000, 1_000_004)
>>> x.shape, y.shape
((4, 20), (4,))

`make` gives a `Generator` by its name. Most have a truth that is known in closed form or by construction.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.datasets.generated.base import Generator
from shallows.datasets.generated.label_noise import LabelNoise
from shallows.errors import ShallowsError, UnknownNameError

if TYPE_CHECKING:
    from shallows.datasets.catalogue import Dataset
    from shallows.datasets.sources import Source

__all__ = ["Generator", "LabelNoise", "kind_of", "make", "names", "open_source"]

# Each in its own module, loaded when it is asked for.
_GENERATORS = {
    "endless_mnist": (".digits", "EndlessDigits"),
    "gaussian_1d": (".gaussian", "Gaussian1D"),
    "latent_views": (".latent", "LatentViews"),
    "heaviside_circle": (".circle", "HeavisideCircle"),
    "smooth_circle": (".circle", "SmoothCircle"),
    "uniform_cube": (".cube", "UniformCube"),
    "dsg_regression": (".dsg_regression", "DSGRegression"),
    "fourier_teacher": (".teacher", "FourierTeacher"),
    "rbf_teacher": (".teacher", "RBFTeacher"),
    "virtual_molecules": ("shallows.datasets.molecules", "VirtualMolecules"),
    "smiles_molecules": ("shallows.datasets.molecules", "SmilesMolecules"),
}


def names() -> tuple[str, ...]:
    """Return the names that `make` knows."""
    return tuple(_GENERATORS)


def kind_of(name: str) -> type[Generator]:
    """Return the class of the generators of this name.

    Raises
    ------
    UnknownNameError
        When there is none.
    """
    if name not in _GENERATORS:
        raise UnknownNameError("generator", name, _GENERATORS)
    module, kind = _GENERATORS[name]
    return getattr(importlib.import_module(module, __name__), kind)


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open a generated dataset of the catalogue, see `shallows.datasets.generated.source`."""
    from shallows.datasets.generated import source

    return source.open_source(dataset, paths)


def make(name: str, seed: int = 0, label_noise: float = 0.0, **parameters: Any) -> Generator:
    """Make a generator.

    Parameters
    ----------
    name : str
        One of `names`.
    seed : int, default=0
        Another seed gives other examples of the same problem (and another teacher, where there is one).
    label_noise : float, default=0.0
        Share of wrong labels, see `LabelNoise`. In regression, the standard deviation of noise that is added.
    **parameters
        Those of the generator; its class tells them.

    Returns
    -------
    Generator

    Raises
    ------
    UnknownNameError
        When there is no such generator, or it has no such parameter.
    ShallowsError
        When a parameter has a value that makes no sense, or one that is needed is missing.
    """
    kind = kind_of(name)
    for parameter in parameters:
        if parameter not in kind.parameter_names():
            raise UnknownNameError(f"parameter of the generator '{name}'", parameter, kind.parameter_names())
    missing = [parameter for parameter in kind.needed_names() if parameter not in parameters]
    if missing:
        raise ShallowsError(f"The generator '{name}' needs {', '.join(missing)}: make({name!r}, {missing[0]}=...).")
    generator = kind(seed=seed, **parameters)
    return LabelNoise(generator, label_noise, seed=seed) if label_noise else generator
