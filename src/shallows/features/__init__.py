"""Explicit feature maps: random Fourier features and variants, landmarks, polynomials, hidden units, the inputs.

A map is a name in `FEATURE_MAPS` or an object of the user. `make` returns the map of a name. `in_blocks` divides a map
into ranges of columns that are computed one at a time within a memory budget, as the estimators need it.
"""

from collections.abc import Mapping
from typing import Any

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.lazy_tables import LazyTable
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, MapRequest
from .design import Blocks, Design

FEATURE_MAPS = LazyTable(
    "feature map",
    __name__,
    {
        "fourier": ".fourier:fourier_pairs",
        "fourier_cosine": ".fourier:fourier_cosines",
        "orthogonal": ".fourier:orthogonal_pairs",
        "fastfood": ".fastfood:fastfood_frequencies",
        "quasi_monte_carlo": ".quasi_monte_carlo:quasi_monte_carlo_frequencies",
        "binning": ".binning:bins_of_grids",
        "rbf": ".landmarks",
        "rbf_kmeans": ".landmarks",
        "nystrom": ".landmarks",
        "nystrom_kmeans": ".landmarks",
        "nystrom_leverage": ".landmarks",
        "nystrom_pivoted": ".landmarks",
        "nystrom_randomly_pivoted": ".landmarks",
        "polynomial": ".monomials:monomials",
        "tensor_sketch": ".tensor_sketch",
        "hidden_units": ".hidden_units",
        "semi_random": ".semi_random",
        "linear": ".monomials:inputs_and_constant",
    },
)
"""Functions of a kernel, training points, a number of features, a seed and a budget in bytes that make a map."""

_CLASSES = LazyTable(
    "class of feature maps",
    __name__,
    {
        "FastfoodMap": ".fastfood",
        "FourierMap": ".fourier",
        "HiddenUnitsMap": ".hidden_units",
        "LinearMap": ".monomials",
        "PolynomialMap": ".monomials",
        "NystroemMap": ".landmarks",
        "QuasiMonteCarloMap": ".quasi_monte_carlo",
        "RBFNetworkMap": ".landmarks",
        "RandomBinningMap": ".binning",
        "SemiRandomMap": ".semi_random",
        "TensorSketchMap": ".tensor_sketch",
    },
)


__all__ = [*_CLASSES, "FEATURE_MAPS", "Blocks", "Design", "FeatureMap", "MapRequest", "in_blocks", "make", "name_of"]


def __getattr__(name: str) -> Any:
    return _CLASSES.attribute(name)


MOST_COPIES = 10
"""The largest number of copies of the coefficients in a training: with their average and the best so far."""


def takes_sparse_points(features: Any) -> bool:
    """Whether the features of a named map are kernel values, so that points may be `arrays.SparsePoints`."""
    return isinstance(features, str) and features.startswith(("nystrom", "rbf"))


def name_of(features: Any) -> str | None:
    """The name of a map in records: its name, or the class of an object; None stays None."""
    return features if features is None or isinstance(features, str) else type(features).__name__


@takes_numpy_integers
def make(name: str, kernel: Any, x: Array, n_features: int, seed: int = 0) -> FeatureMap:
    """The feature map of a name in `FEATURE_MAPS`, fitted to training points x, shape (n, d), where it needs them.

    Landmarks are taken from the points, so there are at most n; other maps use only their number of inputs. An odd
    number of paired Fourier features becomes the next even one. "binning" needs the kernel laplace_product,
    "polynomial" and "tensor_sketch" a polynomial kernel; "hidden_units", "semi_random" and "linear" (the inputs and a
    constant) use none.
    """
    make_map = FEATURE_MAPS[name]
    if not n_features >= 1:
        raise ShallowsError(f"n_features must be at least 1, got {n_features!r}.")
    return make_map(kernel, x, n_features, seed)


@takes_numpy_integers
def in_blocks(
    features: Any,
    kernel: Any,
    x: Array,
    n_features: int,
    seed: int,
    budget: int,
    parameters: Mapping[str, Any] | None = None,
) -> Blocks:
    """The features of a name or of an object with ``map(x)`` and ``n_features``, in ranges of columns that are computed
    in turn.

    The other parameters are those of `make`. ``budget`` is the number of bytes, of which an eighth may contain
    frequencies. ``parameters`` are further arguments of the function in `FEATURE_MAPS`. A `ShallowsError` reports
    coefficients that do not fit.
    """
    if not isinstance(features, str):
        return Blocks(features)
    blocks = Blocks(FEATURE_MAPS[features](kernel, x, n_features, seed, budget, **(parameters or {})), n_features)
    needed = MOST_COPIES * x.dtype.itemsize * blocks.n_features
    what = f"The coefficients of {blocks.n_features:,} features take"
    arrays.check_room(what, needed, budget, "Take fewer, or give more memory.")
    return blocks
