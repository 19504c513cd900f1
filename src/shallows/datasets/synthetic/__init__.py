"""Generated data: example i of a seed is a function of both, the same on every machine and never stored.

>>> from shallows.datasets import synthetic
>>> data = synthetic.make("fourier_teacher", seed=0, dimension=20)
>>> x, y = data.block(1_000_000, 1_000_004)
>>> x.shape, y.shape
((4, 20), (4,))

`make` returns a `Generator` by its name. The truth of most is known in closed form or by construction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError, UnknownNameError
from shallows.utils.lazy_tables import LazyTable

if TYPE_CHECKING:
    from shallows.datasets.synthetic.generator import Generator

__all__ = ["GENERATORS", "generator_class", "make", "names"]

#: Every generator by its name.
GENERATORS = LazyTable(
    "generator",
    __name__,
    {
        "endless_mnist": ".endless_digits:EndlessDigits",
        "gaussian_1d": ".gaussian_1d:Gaussian1D",
        "planar_arm": ".planar_arm:PlanarArm",
        "latent_views": ".latent_views:LatentViews",
        "heaviside_circle": ".circle:HeavisideCircle",
        "smooth_circle": ".circle:SmoothCircle",
        "uniform_cube": ".uniform_cube:UniformCube",
        "dsg_regression": ".dsg_regression:DSGRegression",
        "fourier_teacher": ".teachers:FourierTeacher",
        "rbf_teacher": ".teachers:RBFTeacher",
        "virtual_molecules": ".molecules:VirtualMolecules",
        "smiles_molecules": ".smiles_molecules:SmilesMolecules",
    },
)


def names() -> tuple[str, ...]:
    """Return the names of all generators."""
    return tuple(GENERATORS)


def generator_class(name: str) -> type[Generator]:
    """Return the class of a generator by its name, or raise `UnknownNameError`."""
    return GENERATORS[name]


def make(name: str, seed: int = 0, label_noise: float = 0.0, **parameters: Any) -> Generator:
    """Make a generator.

    Parameters
    ----------
    name : str
        One of `names`.
    seed : int, default=0
        Another seed gives other examples of the same problem (and another teacher, where there is one).
    label_noise : float, default=0.0
        Share of wrong labels, see `shallows.datasets.synthetic.generator.LabelNoise`. In regression, the standard
        deviation of noise that is added.
    **parameters
        Of the generator; see its class.

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
    kind = generator_class(name)
    for parameter in parameters:
        if parameter not in kind.parameter_names():
            raise UnknownNameError(f"parameter of the generator '{name}'", parameter, kind.parameter_names())
    missing = [parameter for parameter in kind.needed_names() if parameter not in parameters]
    if missing:
        raise ShallowsError(f"The generator '{name}' needs {', '.join(missing)}: make({name!r}, {missing[0]}=...).")
    generator = kind(seed=seed, **parameters)
    if not label_noise:
        return generator
    from shallows.datasets.synthetic.generator import LabelNoise

    return LabelNoise(generator, label_noise, seed=seed)
