"""Base of the teachers: normal points with targets that a known function of a Gaussian kernel's space gives."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows.datasets.parameter_rules import COUNT, NOT_NEGATIVE, is_whole, rule
from shallows.datasets.synthetic.generator import Generator, points


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelTeacher(Generator):
    """Normal points, and a sum of `n_units` random functions of them with mean 0 and variance 1 over all points."""

    dimension: int = field(metadata=COUNT)
    classes: int = field(
        default=0, metadata=rule(lambda n: is_whole(n) and n != 1, "0 (regression) or at least 2: one class is no task")
    )
    n_units: int = field(default=512, metadata=COUNT)
    bandwidth: float | None = field(default=None, metadata=rule(lambda b: b is None or b > 0, "above 0 or None"))
    noise: float = field(default=0.1, metadata=NOT_NEGATIVE)
    teacher_seed: int | None = None

    @property
    def task(self) -> str:
        """Classification where there are classes."""
        return "classification" if self.classes else "regression"

    @property
    def d(self) -> int:
        """Features of an example."""
        return self.dimension

    @property
    def n_classes(self) -> int:
        """Classes; 0 in regression."""
        return self.classes

    @property
    def sigma(self) -> float:
        """The bandwidth that is used."""
        return math.sqrt(self.d) if self.bandwidth is None else self.bandwidth

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the noise-free target at `x`, shape (n,); with classes, the score of each, shape (n, classes)."""
        scores = self._units(points(x, self.d)) @ self.weights - self._means
        return scores if self.classes else scores[:, 0]

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """Weights of the units, shape (n_units, classes or 1), scaled so that every function has variance 1."""
        weights = self._drawn("weights", (self.n_units, max(self.classes, 1)))
        means, products = self._moments()
        variances = np.einsum("ic,ij,jc->c", weights, products, weights) - (means @ weights) ** 2
        return weights / np.sqrt(variances)

    @functools.cached_property
    def _means(self) -> np.ndarray:
        return self._moments()[0] @ self.weights

    @abstractmethod
    def _units(self, x: np.ndarray) -> np.ndarray:
        """Return the random functions at `x`, shape (n, n_units)."""

    @abstractmethod
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of the random functions over the points, and those of their products."""

    def _drawn(self, what: str, shape: tuple[int, ...]) -> np.ndarray:
        seed = self.seed if self.teacher_seed is None else self.teacher_seed
        return streams.normal(seed, f"{self.name}/{what}", 0, shape)

    def _numbers_per_row(self) -> int:
        return 2 * self.d + self.n_units

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = streams.normal(self.seed, f"{self.name}/points", chunk, (n_rows, self.d))
        target = self.truth(x)
        if self.noise:
            target = target + self.noise * streams.normal(self.seed, f"{self.name}/noise", chunk, target.shape)
        return x, target.argmax(axis=1) if self.classes else target
