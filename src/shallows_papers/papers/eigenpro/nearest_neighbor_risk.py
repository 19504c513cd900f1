"""The error of the nearest neighbor over the Bayes error, for distributions whose Bayes error is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import norm

from shallows import streams
from shallows.errors import UnknownNameError

from ..results import AnalysisResult

LAWS = ("flipped labels", "normal classes")

Draw = Callable[[str, int], tuple[np.ndarray, np.ndarray]]


def nearest_neighbor_risk(
    data: Any = None,
    *,
    law: str = "flipped labels",
    bayes_error: float = 0.05,
    sizes: Sequence[int] = (10, 100, 1000, 10_000, 100_000),
    n_test: int = 50_000,
    random_state: int = 0,
) -> AnalysisResult:
    """Error of the nearest neighbor divided by the Bayes error R, by the number of training points in the plane.

    "flipped labels": points are uniform on a square, the sign of the first coordinate is the class, and a share R of
    the labels is flipped. "normal classes": two normal distributions at the distance 2 Φ⁻¹(1 − R). The error at a test
    point is the exact probability that its label differs from the label of its neighbor.

    Over n: ``ratio``. Number: ``limit``, the ratio for n → ∞, E 2η(1 − η)/R with η = P(class 1 | x), at most 2(1 − R).

    References
    ----------
    T. Cover, P. Hart (1967), "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13.
    """
    UnknownNameError.check("law", law, LAWS)
    draw = _flipped(bayes_error, random_state) if law == LAWS[0] else _normal(bayes_error, random_state)
    x, eta = draw("test", n_test)
    ratios = []
    for n in sizes:
        known, share = draw("training", n)
        labels = streams.uniform(random_state, "nearest neighbor labels", n, (n,)) < share
        nearest = labels[cKDTree(known).query(x)[1]]
        ratios.append(float(np.where(nearest, 1.0 - eta, eta).mean() / bayes_error))
    limit = float(2.0 * (eta * (1.0 - eta)).mean() / bayes_error)
    return AnalysisResult(list(sizes), {"ratio": ratios}, {"limit": limit}, {"law": law, "bayes_error": bayes_error})


def _flipped(bayes_error: float, seed: int) -> Draw:
    def draw(part: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        x = streams.uniform(seed, f"nearest neighbor {part}", n, (n, 2))
        return x, np.where(x[:, 0] > 0.5, 1.0 - bayes_error, bayes_error)

    return draw


def _normal(bayes_error: float, seed: int) -> Draw:
    distance = -2.0 * norm.ppf(bayes_error)

    def draw(part: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        # The class of the mean is drawn apart from the label, which has the same distribution given the point.
        side = np.where(streams.uniform(seed, f"nearest neighbor side {part}", n, (n,)) < 0.5, 0.5, -0.5)
        x = streams.normal(seed, f"nearest neighbor {part}", n, (n, 2))
        x[:, 0] += distance * side
        return x, 1.0 / (1.0 + np.exp(-distance * x[:, 0]))

    return draw
