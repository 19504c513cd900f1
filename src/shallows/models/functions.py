"""Functions of points with one or several outputs: sums of kernel functions, and linear functions of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, Device
from ..features import Blocks
from ..kernels import Kernel
from ..ranks import Alone
from ..spectrum.principal_components import Components
from . import precomputed
from .centring import Centring
from .scores import feature_scores, kernel_scores

BLOCK_NUMBERS = 2**24
"""Numbers of features that are made at a time."""


@dataclass(frozen=True)
class KernelSum:
    """f(x) = Σⱼ aⱼ k(x, xⱼ).

    Attributes
    ----------
    kernel : Kernel
    centring : Centring
        What is subtracted from points.
    points : array, shape (m, d + 2)
        The augmented points xⱼ.
    coefficients : array, shape (m, c)
    fitting : bool
        Whether its arrays are those of a fit at work, on the fit's device.
    components : Components or None
        Principal components that take the place of the inputs.
    cache
        An `EvaluationCache` for points that come several times during a fit.
    """

    kernel: Kernel
    centring: Centring
    points: Array
    coefficients: Array
    fitting: bool = False
    components: Components | None = None
    cache: Any = None

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:
        """F at checked points, shape (m, c), with blocks of kernel values of at most so many bytes."""
        points, a = (arrays.to_device(part, device) for part in (self.points, self.coefficients))
        kept = None if self.cache is None else self.cache.entry_for(X, budget)
        budget = budget if kept is None else kept.budget
        given = self.kernel, self.centring, self.inputs(X), points, a, device
        return kernel_scores(*given, budget=budget, fitting=self.fitting, kept=kept)

    def inputs(self, X: Any) -> Any:
        """What f is a function of: components of checked points, or the points."""
        return X if self.components is None else self.components(X)

    def on_host(self) -> KernelSum:
        """The function after a fit, on the host."""
        return KernelSum(
            precomputed.without_matrix(self.kernel),
            self.centring,
            arrays.to_numpy(self.points),
            arrays.to_numpy(self.coefficients),
            components=self.components,
        )

    def kept(self) -> tuple[KernelSum, np.ndarray]:
        """The function on the host without the terms whose coefficients are zero, and the numbers of the others."""
        a = arrays.to_numpy(self.coefficients)
        rows = np.flatnonzero(a.any(axis=1))
        points = arrays.to_numpy(arrays.take_rows(self.points, rows))
        return KernelSum(precomputed.without_matrix(self.kernel), self.centring, points, a[rows]), rows


@dataclass(frozen=True)
class DividedFunction:
    """A function in a fit that several processes share, each of which evaluates it at its share of the points.

    Attributes
    ----------
    function : KernelSum
    ranks : Alone
    """

    function: KernelSum
    ranks: Alone

    @property
    def coefficients(self) -> Array:
        """Those of the function."""
        return self.function.coefficients

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:
        """F at checked points, shape (m, c), the same in all processes."""
        own = self.function.scores(X[self.ranks.own(X.shape[0])], device, budget)
        return self.ranks.gathered(own, X.shape[0])


@dataclass(frozen=True)
class FeatureFunction:
    """f(x) = φ(x)ᵀA.

    Attributes
    ----------
    blocks : Blocks
        φ.
    centring : Centring
    coefficients : array, shape (D, c)
        A.
    components : Components or None
        Principal components of the inputs, where φ is a function of them.
    """

    blocks: Blocks
    centring: Centring
    coefficients: Array
    components: Components | None = None

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:
        """F at checked points, shape (m, c), with features of at most so many bytes at a time."""
        blocks, a = self.blocks.to(device), arrays.to_device(self.coefficients, device)
        X = X if self.components is None else self.components(X)
        return feature_scores(blocks, self.centring, X, a, device, budget=budget // 2)

    def kept(self) -> tuple[FeatureFunction, None]:
        """The function on the host."""
        host = self.blocks.to(Device("cpu"))
        return replace(self, blocks=host, coefficients=arrays.to_numpy(self.coefficients)), None


@dataclass(frozen=True)
class TransformedFunction:
    """f(x) = h(x)ᵀA with the features h of a fitted transformer.

    Attributes
    ----------
    transformer : FeatureMapTransformer
    coefficients : ndarray, shape (c, D)
        Aᵀ.
    components : Components or None
        Principal components that h is a function of in place of the inputs.
    """

    transformer: Any
    coefficients: np.ndarray
    components: Components | None = None

    def scores(self, X: Any, device: Any) -> np.ndarray:
        """F at checked points, float64, shape (m, c); the features are made on this device."""
        out = np.empty((X.shape[0], len(self.coefficients)))
        width = 1024 if self.transformer._blocks.is_sparse else self.coefficients.shape[1]
        X = self._inputs(X, device)
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // width)):
            out[rows] = self.transformer.transform(X[rows]) @ self.coefficients.T
        return out

    def features(self, X: Any, device: Any) -> Iterator[np.ndarray]:
        """Dense features of blocks of checked points."""
        X = self._inputs(X, device)
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // self.coefficients.shape[1])):
            yield self.transformer.transform(X[rows])

    def _inputs(self, X: Any, device: Any) -> Any:
        """What h is a function of; a model may be moved to another device after its fit."""
        if "device" in self.transformer.get_params(deep=False):
            self.transformer.set_params(device=device)
        return X if self.components is None else self.components(X)
