"""The bounds of the theorems on doubly stochastic gradients, with their constants.

Theorems 4 to 6 of Dai et al. (2014); Theorems 3, 4 and 14 of Li and Póczos, whose constants come to the same without
re-use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """The constants of the theorems.

    Attributes
    ----------
    theta, nu : float
    slope, lipschitz : float
        M and L.
    norm : float
        ‖f*‖.
    kappa, phi : float
    """

    theta: float
    nu: float
    slope: float
    lipschitz: float
    norm: float
    kappa: float = 1.0
    phi: float = 2.0

    def expected(self, t: float, fresh: int = 1, reused: int = 0) -> float:
        """Of E|f_{t+1}(x) − f*(x)|²: Theorem 4 of Dai et al.; with re-use Theorem 4 of Li and Póczos."""
        G, U = fresh, reused
        more = 1.0 + 2.0 * U / (G + U) + 2.0 * U * U / (G * (G + U)) + 2.0 * U * (U - 1) / (G * t)
        C = 2.0 * (self.kappa + self.phi) * self.slope * self.theta * math.sqrt(max(more, 1.0))
        Q0 = math.sqrt(2.0 * self.kappa) * self.lipschitz * C * self.theta
        z, tn = 2.0 * self.theta * self.nu - 1.0, 1.0 + self.theta * self.nu
        root = math.sqrt(Q0 * Q0 + z * tn * tn * self.theta**2 * self.kappa * self.slope**2)
        Q1 = max(self.norm, (Q0 + root) / z)
        return (2.0 * C * C + 2.0 * self.kappa * Q1 * Q1) / t

    @property
    def constant(self) -> float:
        """C of the theorems of Dai et al."""
        return 2.0 * (self.kappa + self.phi) * self.slope * self.theta

    @property
    def high(self) -> float:
        """Q₂ of Theorems 5 and 6."""
        k, M, theta = math.sqrt(self.kappa), self.slope, self.theta
        Q0 = 4.0 * math.sqrt(2.0) * k * M * theta * (8.0 + (self.kappa + self.phi) * theta * self.lipschitz)
        tn = 1.0 + theta * self.nu
        return max(self.norm, Q0 + math.sqrt(Q0**2 + self.kappa * M**2 * tn**2 * (theta**2 + 16.0 * theta / self.nu)))

    def with_probability(self, t: float, delta: float) -> float:
        """Of |f_{t+1}(x) − f*(x)|² with probability 1 − 3δ: Theorem 5."""
        logs = math.log(2.0 * t / delta) * math.log(t) ** 2
        return (self.constant**2 * math.log(2.0 / delta) + 2.0 * self.kappa * self.high**2 * logs) / t

    def of_risk(self, t: float, delta: float) -> float:
        """Of R(f_{t+1}) − R(f*) with probability 1 − 3δ: Theorem 6."""
        first = self.constant * math.sqrt(math.log(8.0 * math.sqrt(math.e) * t / delta))
        second = math.sqrt(2.0 * self.kappa) * self.high * math.sqrt(math.log(2.0 * t / delta)) * math.log(t)
        return (first + second) * self.lipschitz / math.sqrt(t)
