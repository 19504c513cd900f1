"""Gradient descent on the square loss in closed form: its coefficients after any number of iterations.

After t steps from zero, full-batch gradient descent on the square loss has the coefficients

    αᵗ = Σᵢ (1 − (1 − ηλᵢ)ᵗ)/λᵢ ⟨eᵢ, y⟩ eᵢ

for the eigenpairs (λᵢ, eᵢ) of the kernel matrix (Ma and Belkin 2017, section 2), so any number of iterations costs one
eigendecomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallows import arrays, kernels
from shallows.arrays import Array
from shallows.errors import ShallowsError
from shallows.kernels import Kernel

from ..results import AnalysisResult
from ..samples import codes


@dataclass(frozen=True)
class Path:
    """Gradient descent as a function of the number of iterations.

    Eigenvalues of the kernel matrix are ascending, with eigenvectors in columns and the projections ⟨eᵢ, y⟩ of each
    output, shape (n, c). The step η is for the gradient of the sum over all points.
    """

    eigenvalues: Array
    eigenvectors: Array
    projections: Array
    step_size: float

    def progress(self, n_iterations: int) -> Array:
        """1 − (1 − ηλᵢ)ᵗ, shape (n,): the share of each direction that is fitted after t iterations."""
        xp = arrays.namespace(self.eigenvalues)
        shrink = 1.0 - self.step_size * self.eigenvalues
        # Below one half, compute the power by logarithms, so that 1 − (1 − x)ᵗ loses no digits for small x.
        small = xp.clip(self.step_size * self.eigenvalues, None, 0.5)
        return xp.where(shrink > 0.5, -xp.expm1(n_iterations * xp.log1p(-small)), 1.0 - shrink**n_iterations)

    def coefficients(self, n_iterations: int) -> Array:
        """αᵗ, shape (n, c)."""
        xp = arrays.namespace(self.eigenvalues)
        positive = self.eigenvalues > 0
        safe = xp.where(positive, self.eigenvalues, xp.ones_like(self.eigenvalues))
        # As λ goes to zero (1 − (1 − ηλ)ᵗ)/λ goes to ηt.
        filtered = xp.where(positive, self.progress(n_iterations) / safe, self.step_size * n_iterations)
        return self.eigenvectors @ (filtered[:, None] * self.projections)

    def fitted(self, n_iterations: int) -> Array:
        """K αᵗ, shape (n, c)."""
        return self.eigenvectors @ (self.progress(n_iterations)[:, None] * self.projections)


def gradient_descent_path(
    matrix: Array, targets: Array, *, relative_step: float = 1.0, plain_step: float | None = None
) -> Path:
    """The path for a kernel matrix and targets.

    The step is η in units of 1/λ₁; the iteration converges in (0, 2). `plain_step` is η for the mean gradient over the
    points and replaces it.
    """
    xp = arrays.namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    values = xp.clip(values, 0.0, None)
    top = float(values[-1])
    relative = relative_step if plain_step is None else plain_step / matrix.shape[0] * top
    if not 0 < relative < 2:
        name = "relative_step" if plain_step is None else "plain_step times λ₁/n"
        raise ShallowsError(f"{name} must be in (0, 2), where the iteration converges, got {relative!r}.")
    return Path(values, vectors, vectors.T @ targets, relative / top)


#: The iterations after which gradient descent is measured: the iterations in the paper's table, and more between them.
ITERATIONS = (1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960, 81920)


def gradient_descent(
    data: Any,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | None = None,
    *,
    iterations: Sequence[int] = ITERATIONS,
    relative_step: float = 1.0,
    plain_step: float | None = None,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> AnalysisResult:
    """Losses of full-batch gradient descent in a kernel's space, in float64.

    The bandwidth defaults to the median rule; steps are as in `gradient_descent_path`. It uses about 40 n² + 8 n ·
    n_test bytes.

    Over the iterations: ``train_l2``, ``test_l2`` (mean over points and outputs, classes coded −1 and +1),
    ``test_error`` in percent for classes, ``coefficient_norm``.
    """
    device = arrays.resolve_device(device)
    n, n_test = len(data.x_train), len(data.x_test)
    _check_room(n, memory, device)
    classes = _classes(data)
    with device.active():
        kernel, points, new_points, y = _place_points(data, kernel, bandwidth, random_state, device)
        y_new = arrays.to_device(codes(np.asarray(data.y_test), classes), device, np.float64)
        path = gradient_descent_path(
            kernels.matrix(kernel, points), y, relative_step=relative_step, plain_step=plain_step
        )
        cross = kernels.values(kernel, new_points, points)
        curve: dict[str, list[float]] = {"train_l2": [], "test_l2": [], "coefficient_norm": []}
        for t in iterations:
            coefficients = path.coefficients(t)
            predicted = arrays.to_numpy(cross @ coefficients)
            curve["train_l2"].append(_mean_square(arrays.to_numpy(path.fitted(t)), arrays.to_numpy(y)))
            curve["test_l2"].append(_mean_square(predicted, arrays.to_numpy(y_new)))
            curve["coefficient_norm"].append(float(np.linalg.norm(arrays.to_numpy(coefficients))))
            if classes is not None:
                labels = _labels(predicted, classes)
                curve.setdefault("test_error", []).append(100.0 * float(np.mean(labels != np.asarray(data.y_test))))
    effective = {
        "kernel": kernel.name,
        "bandwidth": kernel.bandwidth,
        "step_size": path.step_size,
        "top_eigenvalue": float(path.eigenvalues[-1]) / n,
        "n_test": n_test,
        "device": str(device),
        "precision": "float64",
    }
    return AnalysisResult([int(t) for t in iterations], curve, effective=effective)


def nearest_neighbour_limit(
    data: Any,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | None = None,
    *,
    iterations: Sequence[int] = (1, 10, 100, 1000, 10_000),
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> AnalysisResult:
    """Compare a classifier with the nearest neighbor, which is its limit as the bandwidth goes to zero.

    Gradient descent has the step 1/λ₁; the data have labels.

    Over the iterations: ``train_l2`` and ``test_error`` (percent) of gradient descent. Numbers, of the interpolating
    function: ``interpolation_error`` and ``agreement``, the share of test points at which it agrees with the nearest
    neighbor (percent); ``nearest_neighbour_error``; and ``eigenvalue_share``, λ₁₆₁/λ₁ (the last eigenvalue if there are
    fewer points).
    """
    device = arrays.resolve_device(device)
    n, classes = len(data.x_train), _classes(data)
    if classes is None:
        raise ShallowsError("The nearest-neighbor limit needs classes, but the targets of these data are values.")
    _check_room(n, memory, device)
    with device.active():
        xp = device.namespace
        kernel, points, new_points, y = _place_points(data, kernel, bandwidth, random_state, device)
        path = gradient_descent_path(kernels.matrix(kernel, points), y)
        distances = xp.clip(
            new_points[:, -2:-1] + points[:, -2][None, :] - 2.0 * new_points[:, :-2] @ points[:, :-2].T, 0.0, None
        )
        neighbours = np.asarray(data.y_train)[arrays.to_numpy(xp.argmin(distances, axis=1))]
        if kernel.name == "gaussian":
            # At small bandwidths all values of a row underflow. Scale each row so that its largest value is 1; this
            # changes no decision.
            distances -= xp.min(distances, axis=1)[:, None]
            cross = xp.exp(-distances / (2.0 * kernel.bandwidth**2))
        else:
            cross = kernels.values(kernel, new_points, points)

        def labels(coefficients: Array) -> np.ndarray:
            return _labels(arrays.to_numpy(cross @ coefficients), classes)

        def error(found: np.ndarray) -> float:
            return 100.0 * float(np.mean(found != np.asarray(data.y_test)))

        curve: dict[str, list[float]] = {"train_l2": [], "test_error": []}
        for t in iterations:
            curve["train_l2"].append(_mean_square(arrays.to_numpy(path.fitted(t)), arrays.to_numpy(y)))
            curve["test_error"].append(error(labels(path.coefficients(t))))
        resolved = path.eigenvalues > float(path.eigenvalues[-1]) * n * float(np.finfo(np.float64).eps)
        inverse = xp.where(resolved, 1.0 / xp.where(resolved, path.eigenvalues, 1.0), 0.0)
        interpolating = labels(path.eigenvectors @ (inverse[:, None] * path.projections))
        place = min(161, n)
        numbers = {
            "interpolation_error": error(interpolating),
            "nearest_neighbour_error": error(neighbours),
            "agreement": 100.0 * float(np.mean(interpolating == neighbours)),
            "eigenvalue_share": float(path.eigenvalues[-place]) / float(path.eigenvalues[-1]),
        }
    effective = {
        "kernel": kernel.name,
        "bandwidth": kernel.bandwidth,
        "eigenvalue_index": place,
        "n_resolved": int(xp.sum(resolved)),
        "device": str(device),
        "precision": "float64",
    }
    return AnalysisResult([int(t) for t in iterations], curve, numbers, effective)


def _check_room(n: int, memory: int | str | None, device: arrays.Device) -> None:
    budget = arrays.memory_budget(memory, device)
    arrays.check_room(f"The full eigendecomposition of {n} points takes", 40 * n * n, budget, "Use a smaller subset.")


def _classes(data: Any) -> np.ndarray | None:
    return np.unique(data.y_train) if np.asarray(data.y_train).dtype.kind in "iub" else None


def _place_points(
    data: Any, kernel: str | Kernel, bandwidth: float | None, seed: int, device: arrays.Device
) -> tuple[Kernel, Array, Array, Array]:
    """Return the kernel, the augmented training and test points, and the coded training targets.

    Points are centered at the training mean if the kernel is translation-invariant.
    """
    kernel = kernels.make(kernel, bandwidth)
    mean = np.mean(data.x_train, axis=0, dtype=np.float64) if kernel.shift_invariant else 0.0
    points, new_points = (
        kernels.augmented(arrays.to_device(np.asarray(x, dtype=np.float64) - mean, device))
        for x in (data.x_train, data.x_test)
    )
    kernel = kernels.choose(kernel, points, seed)
    y = arrays.to_device(codes(np.asarray(data.y_train)), device, np.float64)
    return kernel, points, new_points, y


def _labels(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return classes[(scores[:, 0] > 0).astype(int)]
    return classes[scores.argmax(axis=1)]


def _mean_square(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.mean((a - b) ** 2))
