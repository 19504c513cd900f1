"""Explicit polynomial features: their number, inner products, and cost compared with a kernel machine."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, kernels, streams
from shallows.features.monomials import PolynomialMap

from ...results import AnalysisResult
from ...timing import processor_seconds

TESTED = 4000  # new points for test errors


def number_of_features(
    data: Any = None,
    *,
    degrees: Sequence[int] = (1, 2, 3, 4, 5),
    n_inputs: int = 6,
    offset: float = 2.0,
    n_points: int = 50,
    random_state: int = 0,
) -> AnalysisResult:
    """Columns of the map to monomials, and how far inner products are from (xᵀz + c)^p.

    Points are normal numbers, divided by √d. The offset is not 1, because √2 c and √(2c) would then be equal.

    Over the degrees: ``columns`` of the map; ``formula``, (p + d)!/(p! d!) by a product; ``difference`` of inner
    products, relative to the largest value. As a number ``printed_difference``, of the features of degree two with √2 c
    xᵢ instead of √(2c) xᵢ.
    """
    x = streams.normal(random_state, "polynomial points", 0, (n_points, n_inputs)) / math.sqrt(n_inputs)
    found: dict[str, list[float]] = {"columns": [], "formula": [], "difference": []}
    for p in degrees:
        kernel = kernels.Polynomial(degree=p, offset=offset)
        Z, K = PolynomialMap(kernel, n_inputs).map(x), (x @ x.T + offset) ** p
        found["columns"].append(float(Z.shape[1]))
        found["formula"].append(math.prod((n_inputs + i) / i for i in range(1, p + 1)))
        found["difference"].append(float(np.abs(Z @ Z.T - K).max() / np.abs(K).max()))
    pairs = itertools.combinations(range(n_inputs), 2)
    mixed = [math.sqrt(2.0) * x[:, i] * x[:, j] for i, j in pairs]
    constant = np.full((n_points, 1), offset)
    Z = np.concatenate([x**2, np.stack(mixed, axis=1), math.sqrt(2.0) * offset * x, constant], axis=1)
    K = (x @ x.T + offset) ** 2
    printed = float(np.abs(Z @ Z.T - K).max() / np.abs(K).max())
    return AnalysisResult(list(degrees), found, {"printed_difference": printed}, {"offset": offset, "d": n_inputs})


def against_kernel_machine(
    data: Any = None,
    *,
    sizes: Sequence[int] = (1000, 2000, 4000, 8000),
    n_inputs: int = 5,
    degree: int = 2,
    C: float = 1.0,
    rounds: int = 2,
    random_state: int = 0,
) -> AnalysisResult:
    """Compare time and error of SGD on polynomial features and of a kernel machine by SMO.

    Points are normal numbers, and labels are the sign of a noisy polynomial of degree two. The penalty of SGD is 1/(C
    n).

    Over n: ``time``, processor seconds of features and SGD divided by the time of the kernel machine (scikit-learn's
    ``SGDClassifier`` and ``SVC``), and ``error_features`` and ``error_kernel`` in percent on new points.
    """
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import SVC

    n = max(sizes) + TESTED
    x = streams.normal(random_state, "points of polynomials", 0, (n, n_inputs))
    q = streams.normal(random_state, "quadratic form", 0, (n_inputs, n_inputs))
    value = np.einsum("ij,jk,ik->i", x, q, x) + x @ q[0]
    y = np.where(value + 0.3 * value.std() * streams.normal(random_state, "noise", 0, (n,)) > 0, 1, -1)
    kernel = kernels.Polynomial(degree=degree, offset=1.0, scale=1.0 / n_inputs)
    features, new = PolynomialMap(kernel, n_inputs), slice(n - TESTED, n)
    found: dict[str, list[float]] = {"time": [], "error_features": [], "error_kernel": []}
    with arrays.one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A machine that stops at its limit of passes warns each time.
        for size in sizes:
            linear = SGDClassifier(alpha=1.0 / (C * size), average=True, random_state=random_state)
            machine = SVC(C=C, kernel="poly", degree=degree, coef0=1.0, gamma=1.0 / n_inputs)
            mapped = make_pipeline(FunctionTransformer(features.map), linear)
            turns = [
                [processor_seconds(one.fit, x[:size], y[:size]) for one in (mapped, machine)] for _ in range(rounds)
            ]
            of_features, of_kernel = map(min, zip(*turns, strict=True))
            found["time"].append(of_features / of_kernel)
            found["error_features"].append(100.0 * float(np.mean(mapped.predict(x[new]) != y[new])))
            found["error_kernel"].append(100.0 * float(np.mean(machine.predict(x[new]) != y[new])))
    return AnalysisResult(list(sizes), found, {}, {"C": C, "degree": degree, "d": n_inputs})
