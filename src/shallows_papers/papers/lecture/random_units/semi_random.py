"""Semi-random features compared with random features and a trained net, by number of units."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, kernels, streams
from shallows.features.hidden_units import HiddenUnitsMap
from shallows.features.semi_random import SemiRandomMap
from shallows.solvers.least_squares.normal_equations import solve_by_features, solve_by_rows

from ...results import AnalysisResult, curves_of

RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # values of λ of least squares, chosen on a fifth of the training points
PENALTIES = (1e-4, 1e-1)  # penalties of the trained net


def by_units(
    data: Any,
    *,
    sizes: Sequence[int] = (4, 8, 16, 32),
    order: int = 1,
    n_points: int = 4000,
    random_state: int = 0,
) -> AnalysisResult:
    """Test errors of three models of two classes, to see which needs the fewest units.

    Over n, test errors in percent: ``semi_random`` with n units, ``semi_random_double`` with 2 n, ``net`` with n
    trained rectified units (scikit-learn's ``MLPClassifier``, at most 300 passes), ``random`` with 4 n random
    cosines, ``linear`` on the inputs themselves, the same for every n.
    """
    order_of_rows = streams.permutation(random_state, "units", 0, len(data.x_train))[:n_points]
    x = np.asarray(data.x_train)[np.sort(order_of_rows)].astype(np.float64)
    y = np.asarray(data.y_train)[np.sort(order_of_rows)]
    mixed = streams.permutation(random_state, "mixed", 0, len(x))
    x, y = x[mixed], y[mixed]
    new, classes = np.asarray(data.x_test).astype(np.float64), np.unique(y)
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    x, new = (x - mean) / spread, (new - mean) / spread
    t, truth = np.where(y == classes[1], 1.0, -1.0), np.where(np.asarray(data.y_test) == classes[1], 1.0, -1.0)
    sigma, d = kernels.median_bandwidth(x, random_state), x.shape[1]

    def semi(n: int) -> float:
        return _error(SemiRandomMap(d, n, order, np.sqrt(d), random_state), x, t, new, truth)

    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A net that stops at its limit of passes warns.
        linear = _error(None, x, t, new, truth)
        for n in sizes:
            cosines = HiddenUnitsMap("cosine", d, 4 * n, sigma, seed=random_state)
            errors = {"semi_random": semi(n), "semi_random_double": semi(2 * n)}
            errors["net"] = _net_error(n, x, t, new, truth, random_state)
            rows.append({**errors, "random": _error(cosines, x, t, new, truth), "linear": linear})
    return AnalysisResult(list(sizes), curves_of(rows), {}, {"bandwidth": sigma, "order": order, "n_points": len(x)})


def _net_error(n: int, x: np.ndarray, t: np.ndarray, new: np.ndarray, truth: np.ndarray, seed: int) -> float:
    """Test error in percent of a trained net; its penalty is chosen on the last fifth of the training points."""
    from sklearn.neural_network import MLPClassifier

    fitted = len(x) - len(x) // 5

    def net(rows: int, penalty: float) -> MLPClassifier:
        return MLPClassifier((n,), alpha=penalty, max_iter=300, random_state=seed).fit(x[:rows], t[:rows])

    errors = [float(np.mean(net(fitted, penalty).predict(x[fitted:]) != t[fitted:])) for penalty in PENALTIES]
    return 100.0 * float(np.mean(net(len(x), PENALTIES[int(np.argmin(errors))]).predict(new) != truth))


def _error(features: Any, x: np.ndarray, t: np.ndarray, new: np.ndarray, truth: np.ndarray) -> float:
    """Test error in percent of ridge regression on features; λ is chosen on the last fifth of the training points.

    Without features the inputs are used.
    """

    def mapped(points: np.ndarray) -> np.ndarray:
        return points if features is None else arrays.to_numpy(features.map(points))

    Z, fitted = mapped(x), len(x) - len(x) // 5
    Z = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)

    def solved(rows: int, ridge: float) -> np.ndarray:
        T = t[:rows, None]
        if Z.shape[1] <= rows:
            return solve_by_features(iter([(Z[:rows], T)]), ridge)
        return solve_by_rows(Z[:rows], T, ridge)

    errors = [float(np.mean(np.sign(Z[fitted:] @ solved(fitted, ridge))[:, 0] != t[fitted:])) for ridge in RIDGES]
    beta = solved(len(x), RIDGES[int(np.argmin(errors))])
    tested = np.concatenate([mapped(new), np.ones((len(new), 1))], axis=1)
    return 100.0 * float(np.mean(np.where(tested @ beta > 0, 1.0, -1.0)[:, 0] != truth))
