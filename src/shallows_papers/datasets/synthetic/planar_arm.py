"""The torque at the shoulder of an arm with two joints in a plane."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows_papers.datasets.parameter_rules import NOT_NEGATIVE, POSITIVE
from shallows_papers.datasets.synthetic.generator import Generator, points


@dataclass(frozen=True, eq=False)
class PlanarArm(Generator):
    r"""Inverse dynamics of an arm of two links, without friction, hanging in the plane of gravity.

    The features are the angles :math:`q`, uniform in :math:`[-\pi, \pi]`, and the angular velocities and accelerations
    of both joints, uniform in [-1, 1]. The target is the torque at the first joint,

    .. math:: (a + 2c\cos q_2)\ddot q_1 + (b + c\cos q_2)\ddot q_2 - c\sin q_2\,(2\dot q_1\dot q_2 + \dot q_2^2)
        + g_1\cos q_1 + g_2\cos(q_1 + q_2),

    with the inertias of two links whose masses are at their ends, plus normal noise.

    References
    ----------
    M. W. Spong, S. Hutchinson and M. Vidyasagar. Robot Modeling and Control. Wiley, 2006, section 7.3.
    """

    name = "planar_arm"
    task = "regression"
    d = 6

    first_mass: float = field(default=1.0, metadata=POSITIVE)
    second_mass: float = field(default=1.0, metadata=POSITIVE)
    first_length: float = field(default=1.0, metadata=POSITIVE)
    second_length: float = field(default=1.0, metadata=POSITIVE)
    gravity: float = field(default=2.0, metadata=NOT_NEGATIVE)
    noise: float = field(default=0.05, metadata=NOT_NEGATIVE)  # Standard deviation of the noise

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the torque at `x`, without noise."""
        first, second, v1, v2, a1, a2 = points(x, self.d).T
        m1, m2, l1, l2 = self.first_mass, self.second_mass, self.first_length, self.second_length
        coupled = m2 * l1 * l2
        inertia = (m1 + m2) * l1**2 + m2 * l2**2
        return (
            (inertia + 2 * coupled * np.cos(second)) * a1
            + (m2 * l2**2 + coupled * np.cos(second)) * a2
            - coupled * np.sin(second) * (2 * v1 * v2 + v2**2)
            + self.gravity * ((m1 + m2) * l1 * np.cos(first) + m2 * l2 * np.cos(first + second))
        )

    def _numbers_per_row(self) -> int:
        return self.d + 1

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = 2 * streams.uniform(self.seed, f"{self.name}/points", chunk, (n_rows, self.d)) - 1
        x[:, :2] *= np.pi
        return x, self._noisy(self.truth(x), chunk)
