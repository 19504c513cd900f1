"""Doubly stochastic kernel PCA of normal numbers, whose eigenfunctions are known: Hermite functions.

Figure 1 of Xie et al. (2015), Theorem 4, and the effect of the generalized Hebbian rule.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shallows import arrays, kernels, streams
from shallows.errors import UnknownNameError
from shallows.features.fourier import FourierMap
from shallows.solvers.components.component_steps import random_feature_components
from shallows.solvers.components.oja import ComponentProblem, ComponentState, OjaStepper
from shallows.solvers.examples import Examples

from ...datasets.synthetic.gaussian_1d import Gaussian1D
from ..results import AnalysisResult, curves_of, log_marks

STARTS = ("warm", "poor", "turned")
START_POINTS, START_BLOCKS = 1000, 4
POOR_COSINE = 0.65
"""Share of the correct component in each function of the poor start; cos² of the angle is then slightly above ½."""
PLACES = 4000


def convergence(
    data: Any,
    *,
    bandwidth: float = 0.5,
    n_components: int = 3,
    start: str = "warm",
    scaled: bool = True,
    individual: bool = False,
    step_size: float = 0.5,
    decrease: float = 0.05,
    batch_size: int = 512,
    block_size: int = 128,
    max_blocks: int = 2048,
    n_marks: int = 16,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Compute the angle between the found functions and the eigenfunctions in one pass, by the number of points seen.

    The start "warm" is the components of 1,000 points in the features of four blocks; "poor" mixes these with the next
    k, so that cos² of the angle is slightly above ½; "turned" mixes the k functions of "poor", which keeps their span
    but makes no function close to an eigenfunction. Old blocks are revisited after `max_blocks`.

    Over the points seen: ``squared_sine`` of the largest angle in L₂ of the distribution, by its 4,000 quantiles;
    ``pointwise_error``, the largest mean of |v(x) − h(x)|² over the quantiles for an eigenfunction v of unit norm in
    the space of the kernel and the best h in the span; ``alignment``, the least |cos| between function i and
    eigenfunction i. Numbers: ``final``, the last squared sine; ``start_cosine``, cos² at the start.
    """
    UnknownNameError.check("start", start, STARTS)
    solver = OjaStepper(step_size, decrease, scaled, individual, max_blocks, random_state)
    with arrays.resolve_device(device).active():
        problem, state, batches = _begin(
            data, solver, bandwidth, n_components, start, batch_size, block_size, random_state, device
        )
        law = Law(bandwidth, n_components)
        rows, index, marks = [], [], log_marks(len(batches), n_marks)
        before = law.compare(law.values(problem, state))["squared_sine"]
        for t, batch in enumerate(batches, start=1):
            state = solver.step(problem, state, batch)
            if t in marks:
                index.append(t * batch_size)
                rows.append(law.compare(law.values(problem, state)))
    found = curves_of(rows)
    numbers = {"final": found["squared_sine"][-1], "start_cosine": 1.0 - before}
    return AnalysisResult(index, found, numbers, _setting(solver, problem, state, batch_size))


def eigenfunctions(
    data: Any,
    *,
    bandwidth: float = 0.5,
    n_components: int = 3,
    step_size: float = 0.5,
    decrease: float = 0.05,
    batch_size: int = 512,
    block_size: int = 128,
    max_blocks: int = 2048,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Compare the eigenfunctions found in one pass with the Hermite functions, at 41 places from −2 to 2.

    Parameters are the same as in `convergence`.

    Over the place: ``found_1``, ``true_1`` and so on, with E v² = 1 and the signs of the Hermite functions. Numbers:
    ``deviation_1`` and so on, the root mean square of their difference under the distribution.
    """
    solver = OjaStepper(step_size, decrease, True, False, max_blocks, random_state)
    with arrays.resolve_device(device).active():
        problem, state, batches = _begin(
            data, solver, bandwidth, n_components, "warm", batch_size, block_size, random_state, device
        )
        for batch in batches:
            state = solver.step(problem, state, batch)
        law, places = Law(bandwidth, n_components), np.linspace(-2.0, 2.0, 41)
        at_quantiles, at_places = law.values(problem, state), law.values(problem, state, places)
    # Rotate the span to the eigenfunctions by the second moment, which has the eigenvalues on its diagonal for them.
    turn = np.linalg.eigh(at_quantiles.T @ at_quantiles)[1][:, ::-1]
    at_quantiles, at_places = at_quantiles @ turn, at_places @ turn
    sizes = np.sqrt(np.mean(at_quantiles**2, axis=0)) * np.sign(np.sum(at_quantiles * law.truth, axis=0))
    at_quantiles, at_places = at_quantiles / sizes, at_places / sizes
    truth = Gaussian1D(bandwidth=bandwidth).eigenfunctions(places, n_components)
    off = np.sqrt(np.mean((at_quantiles - law.truth) ** 2, axis=0))
    curve, numbers = {}, {}
    for i in range(n_components):
        curve |= {f"found_{i + 1}": at_places[:, i].tolist(), f"true_{i + 1}": truth[:, i].tolist()}
        numbers[f"deviation_{i + 1}"] = float(off[i])
    return AnalysisResult(places.tolist(), curve, numbers, _setting(solver, problem, state, batch_size))


class Law:
    """The standard normal distribution at its quantiles, with eigenfunctions of unit norm in L₂ of the distribution."""

    def __init__(self, bandwidth: float, n_components: int):
        from scipy.special import ndtri

        law = Gaussian1D(bandwidth=bandwidth)
        self.places = ndtri((np.arange(PLACES) + 0.5) / PLACES)
        self.truth = law.eigenfunctions(self.places, n_components)
        self.eigenvalues = law.eigenvalues(n_components)

    def values(self, problem: ComponentProblem, state: ComponentState, places: np.ndarray | None = None) -> np.ndarray:
        """Return values of the found functions, shape (m, k)."""
        x = arrays.like((self.places if places is None else places)[:, None], state.buffer, state.buffer.dtype)
        return arrays.to_numpy(state.values(problem, x)).astype(np.float64)

    def compare(self, values: np.ndarray) -> dict[str, float]:
        """Compute the measures of `convergence` from values at the quantiles."""
        # Both bases are orthonormal in L₂ of the distribution.
        basis = np.linalg.qr(values)[0]
        truth = np.linalg.qr(self.truth)[0]
        cosines = np.linalg.svd(basis.T @ truth, compute_uv=False)
        # An eigenfunction of unit norm in the kernel's space is √λ times the eigenfunction of unit norm in L₂.
        targets = self.truth * np.sqrt(self.eigenvalues)
        off = np.mean((targets - basis @ (basis.T @ targets)) ** 2, axis=0)
        alone = np.abs(np.sum(values / np.linalg.norm(values, axis=0) * truth, axis=0))
        return {
            "squared_sine": float(max(0.0, 1.0 - cosines[-1] ** 2)),
            "pointwise_error": float(off.max()),
            "alignment": float(alone.min()),
        }


def _begin(
    data: Any, solver: Any, bandwidth: float, k: int, start: str, B: int, F: int, seed: int, device: str
) -> tuple[ComponentProblem, ComponentState, list[Examples]]:
    """Return the problem, the initial state, and the batches of one pass."""
    x = np.asarray(data.x_train, dtype=np.float32).reshape(-1, 1)
    x = x[streams.permutation(seed, "order", 0, len(x))]
    features = FourierMap(kernels.Gaussian(float(bandwidth)), 1, F, seed)
    first = random_feature_components(
        features, x[:START_POINTS].astype(np.float64), k if start == "warm" else 2 * k, n_blocks=START_BLOCKS
    )
    coefficients, values = first.coefficients, first.values[: 2 * k]
    if start != "warm":
        # Each component is mixed with one of the next k, by the same angle.
        c, s = math.sqrt(POOR_COSINE), math.sqrt(1.0 - POOR_COSINE)
        # In L₂ the added part shrinks with the root of its eigenvalue, so it is enlarged by the same factor.
        ratios = np.sqrt(values[:k] / values[k : 2 * k])
        coefficients = c * coefficients[:, :, :k] + s * coefficients[:, :, k:] * ratios
        coefficients = coefficients / np.sqrt(c**2 + (s * ratios) ** 2)
    coefficients, moment = coefficients[:, :, :k], np.diag(values[:k])
    if start == "turned":
        # An orthogonal matrix whose first column has equal entries: cosines, as in the discrete cosine transform.
        turn = np.linalg.qr(np.cos(np.pi * np.outer(np.arange(k) + 0.5, np.arange(k)) / k))[0]
        coefficients, moment = coefficients @ turn, turn.T @ moment @ turn
    where = arrays.resolve_device(device)
    points = arrays.to_device(x, where, np.float32)
    problem = ComponentProblem(features, k, arrays.to_device(coefficients, where, np.float32), moment)
    batches = [Examples(points[rows, :]) for rows in arrays.blocks(len(x) - len(x) % B, B)]
    return problem, solver.init(problem), batches


def _setting(solver: Any, problem: ComponentProblem, state: ComponentState, batch_size: int) -> dict[str, Any]:
    return {
        "kernel": "gaussian",
        "bandwidth": problem.features.kernel.bandwidth,
        "batch_size": batch_size,
        "block_size": problem.features.block_size,
        "n_random_features": state.n_blocks * problem.features.block_size,
        "step_size": solver.step_size,
        "decrease": solver.decrease,
        "n_steps": state.n_steps,
    }
