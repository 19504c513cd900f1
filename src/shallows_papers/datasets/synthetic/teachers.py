"""A teacher: normal points whose targets come from a known function related to a Gaussian kernel."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows_papers.datasets.parameter_rules import COUNT, NOT_NEGATIVE, is_whole, rule
from shallows_papers.datasets.synthetic.generator import Generator, points


@dataclass(frozen=True, eq=False, kw_only=True)
class FourierTeacher(Generator):
    r"""Normal points, labeled by a random draw from the Gaussian process of a Gaussian kernel.

    The function is :math:`f(x) \propto \sum_{j=1}^m w_j \cos(\omega_j^\top x + b_j)` with normal weights, frequencies
    from the Gaussian kernel's spectral density, and uniform phases. Its mean is subtracted and it is scaled to variance
    1, both in closed form. It is as rough as the kernel allows, so the error falls slowly with the number of examples.
    """

    name = "fourier_teacher"

    dimension: int = field(metadata=COUNT)  # d
    # 0: regression. Otherwise each class has a function, and an example belongs to the class with the largest value.
    classes: int = field(
        default=0, metadata=rule(lambda n: is_whole(n) and n != 1, "0 (regression) or at least 2: one class is no task")
    )
    n_units: int = field(default=512, metadata=COUNT)  # m
    # Of the Gaussian kernel. Default: the root of d, about the median distance of two points divided by the root of 2
    bandwidth: float | None = field(default=None, metadata=rule(lambda b: b is None or b > 0, "above 0 or None"))
    # Standard deviation of the noise on the target; in classification, on the functions before choosing the class
    noise: float = field(default=0.1, metadata=NOT_NEGATIVE)

    @property
    def task(self) -> str:
        """Classification if there are classes, otherwise regression."""
        return "classification" if self.classes else "regression"

    @property
    def d(self) -> int:
        """The number of features."""
        return self.dimension

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 in regression."""
        return self.classes

    @property
    def sigma(self) -> float:
        """The bandwidth, with the default resolved."""
        return math.sqrt(self.d) if self.bandwidth is None else self.bandwidth

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the noise-free target at `x`, shape (n,); with classes, the score of each, shape (n, classes)."""
        scores = self._units(points(x, self.d)) @ self.weights - self._means
        return scores if self.classes else scores[:, 0]

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """Weights of the units, shape (n_units, classes or 1), scaled so that every function has variance 1."""
        weights = self._draw("weights", (self.n_units, max(self.classes, 1)))
        means, products = self._moments()
        variances = np.einsum("ic,ij,jc->c", weights, products, weights) - (means @ weights) ** 2
        return weights / np.sqrt(variances)

    @functools.cached_property
    def _means(self) -> np.ndarray:
        return self._moments()[0] @ self.weights

    @functools.cached_property
    def _frequencies(self) -> np.ndarray:
        return self._draw("frequencies", (self.d, self.n_units)) / self.sigma

    @functools.cached_property
    def _phases(self) -> np.ndarray:
        return 2 * math.pi * streams.uniform(self.seed, f"{self.name}/phases", 0, (self.n_units,))

    def _units(self, x: np.ndarray) -> np.ndarray:
        """Return the random functions at `x`, shape (n, n_units)."""
        return np.cos(x @ self._frequencies + self._phases)

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the expectations of the random functions and of their products."""
        # E cos(w'x + b) = exp(-|w|^2 / 2) cos(b) for normal x; a product of two is half a sum of two.
        w, b = self._frequencies, self._phases
        squares, inner = (w**2).sum(axis=0), w.T @ w
        both = squares[:, None] + squares
        differences = np.exp(np.minimum(inner - both / 2, 0)) * np.cos(b[:, None] - b)
        sums = np.exp(np.minimum(-inner - both / 2, 0)) * np.cos(b[:, None] + b)
        return np.exp(-squares / 2) * np.cos(b), (differences + sums) / 2

    def _draw(self, what: str, shape: tuple[int, ...]) -> np.ndarray:
        return streams.normal(self.seed, f"{self.name}/{what}", 0, shape)

    def _numbers_per_row(self) -> int:
        return 2 * self.d + self.n_units

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = streams.normal(self.seed, f"{self.name}/points", chunk, (n_rows, self.d))
        target = self._noisy(self.truth(x), chunk)
        return x, target.argmax(axis=1) if self.classes else target
