"""Generated data. An example depends only on the seed and its number, on every machine, so it is not stored.

>>> from shallows_papers.datasets import synthetic
>>> data = synthetic.make("fourier_teacher", seed=0, dimension=20)
>>> x, y = data.block(1_000_000, 1_000_004)
>>> x.shape, y.shape
((4, 20), (4,))

`make` returns a `Generator` by name. For most generators the true function is known in closed form or by construction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError
from shallows.utils.lazy_tables import LazyTable
from shallows_papers.datasets.parameter_rules import missing_parameters

if TYPE_CHECKING:
    from shallows_papers.datasets.synthetic.generator import Generator

__all__ = ["GENERATORS", "make"]

#: Every generator by name.
GENERATORS = LazyTable(
    "generator",
    __name__,
    {
        "endless_mnist": ".endless_digits:EndlessDigits",
        "gaussian_1d": ".gaussian_1d:Gaussian1D",
        "planar_arm": ".planar_arm:PlanarArm",
        "latent_views": ".latent_views:LatentViews",
        "heaviside_circle": ".circle:HeavisideCircle",
        "uniform_cube": ".uniform_cube:UniformCube",
        "dsg_regression": ".dsg_regression:DSGRegression",
        "fourier_teacher": ".teachers:FourierTeacher",
        "virtual_molecules": ".molecules:VirtualMolecules",
        "smiles_molecules": ".smiles_molecules:SmilesMolecules",
    },
)


def make(name: str, seed: int = 0, **parameters: Any) -> Generator:
    """Make a generator.

    Another seed gives other examples of the same problem, and another teacher if the problem has a teacher. The other
    parameters belong to the generator's class. Unknown, missing and invalid parameters raise an error.
    """
    kind = GENERATORS[name]
    if missing := missing_parameters(kind, parameters, f"parameter of the generator '{name}'"):
        raise ShallowsError(f"The generator '{name}' needs {', '.join(missing)}: make({name!r}, {missing[0]}=...).")
    return kind(seed=seed, **parameters)
