"""First-order methods on features, and on the same features after EigenPro's map P^½ (remark 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from shallows import arrays, streams
from shallows.features import Design
from shallows.fitting.machine import Options
from shallows.kernel_approximation import FourierFeatures, PartialWhitening
from shallows.losses import Square
from shallows.solvers.regularized.risk import FeatureSpan, RiskProblem
from shallows.solvers.regularized.variance_reduced import SAG, SVRG, batch_smoothness
from shallows.training.steps import Batches, InOrderThenDrawn

from ..results import AnalysisResult
from ..samples import codes

#: β₁ and β₂ of Adam, as Kingma and Ba (2014) advise.
ADAM = (0.9, 0.999)
#: The steps that are tried for Adam, which depends on the scale of the features; 0.001 is the advice.
ADAM_STEPS = (1e-3, 1e-2, 1e-1)

Optimizer = Literal["sgd", "svrg", "saga", "adam"]


def whitened_methods(
    data: Any,
    bandwidth: float | None = None,
    *,
    optimizer: Optimizer,
    n_features: int = 1000,
    rank: int = 160,
    n_subsample: int = 4800,
    batch_size: int = 256,
    epochs: Sequence[int] = (1, 2, 3, 5, 7, 10, 14, 20),
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Least squares by one method on random Fourier features φ and on P^½ φ, with the same batches.

    The step is set by one rule for both: 1/L for SGD, 1/(6L) for SVRG and 1/(3L) for SAGA, with the smoothness L that
    the library measures on batches of the features. Adam has the one of `ADAM_STEPS` with the smallest last loss.

    Over epochs: ``plain_loss`` and ``whitened_loss``, the mean squared residual on the training part, and
    ``plain_error`` and ``whitened_error`` in percent of the test part. Numbers: ``plain_smoothness`` and
    ``whitened_smoothness``, L, and ``top_ratio``, the quotient of the two largest eigenvalues of E φφᵀ.
    """
    options = Options(device=device)
    features = FourierFeatures(
        kernel="gaussian", bandwidth=bandwidth, n_features=n_features, random_state=random_state, options=options
    )
    order = streams.permutation(random_state, "rows", 0, len(data.x_train))
    plain = features.fit(data.x_train).transform(data.x_train[order]).astype(np.float32)
    whitening = PartialWhitening(rank=rank, n_subsample=n_subsample, random_state=random_state, options=options)
    test = features.transform(data.x_test).astype(np.float32)
    pairs = {"plain": (plain, test), "whitened": (whitening.fit_transform(plain), whitening.transform(test))}
    classes = np.unique(data.y_train)
    targets = codes(np.asarray(data.y_train)[order], classes).astype(np.float32)
    labels = codes(np.asarray(data.y_test), classes)
    curve: dict[str, list[float]] = {}
    numbers: dict[str, float] = {}
    device_of_fit = arrays.resolve_device(device)
    for name, (train, held_out) in pairs.items():
        with device_of_fit.active():
            on_device, Y, Z = (arrays.to_device(a, device_of_fit, np.float32) for a in (train, targets, held_out))
            problem = RiskProblem(FeatureSpan(_Held(on_device)), Y, Square(), 0.0)
            numbers[f"{name}_smoothness"] = batch_smoothness(problem, batch_size)
            steps = ADAM_STEPS if optimizer == "adam" else (1.0 / numbers[f"{name}_smoothness"],)
            found = []
            for step in steps:
                losses, errors = [], []
                iterates = _iterates(problem, optimizer, step, batch_size, max(epochs), random_state)
                for epoch, w in enumerate(iterates, start=1):
                    if epoch in epochs:
                        losses.append(float(((on_device @ w - Y) ** 2).mean()))
                        predicted = _classes(arrays.to_numpy(Z @ w))
                        errors.append(100.0 * float(np.mean(predicted != _classes(labels))))
                found.append((losses, errors))
        curve[f"{name}_loss"], curve[f"{name}_error"] = min(found, key=lambda one: one[0][-1])
    numbers["top_ratio"] = float(whitening.eigenvalues_[0] / whitening.eigenvalues_[-1])
    effective = {"bandwidth": bandwidth, "batch_size": batch_size, "device": str(device_of_fit)}
    return AnalysisResult(list(epochs), curve, numbers, {**effective, "n_points": len(plain)})


class _Held(Design):
    """Features that are already a matrix."""

    def __init__(self, values: Any):
        self.points = self._values = values
        self.n, self.n_features = values.shape
        self.dtype, self.kept = values.dtype, True


def _classes(scores: np.ndarray) -> np.ndarray:
    return scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0


def _iterates(
    problem: RiskProblem, optimizer: Optimizer, step: float, size: int, n_epochs: int, seed: int
) -> Iterator[Any]:
    """Yield the coefficients after each epoch; ``step`` is the step of SGD and Adam."""
    batches = (InOrderThenDrawn if optimizer == "saga" else Batches)(problem.span.n, size, seed)
    if optimizer in ("svrg", "saga"):
        stepper = (SVRG() if optimizer == "svrg" else SAG(unbiased=True)).build(problem, size)
        state = stepper.init(problem)
        for epoch in range(n_epochs):
            for batch in batches.of_epoch(epoch):
                state = stepper.step(problem, state, batch)
            yield state.coefficients
        return
    w = problem.span.zero(problem.targets)
    direction = _adam(w, step) if optimizer == "adam" else lambda gradient: step * gradient
    for epoch in range(n_epochs):
        for batch in batches.of_epoch(epoch):
            rows = problem.feature_span.rows(batch)
            w -= direction(rows.T @ (rows @ w - problem.targets[batch, :]) / rows.shape[0])
        yield w


def _adam(w: Any, step: float) -> Callable[[Any], Any]:
    xp, (keep_mean, keep_square) = arrays.namespace(w), ADAM
    mean, square, n_steps = xp.zeros_like(w), xp.zeros_like(w), 0

    def direction(gradient: Any) -> Any:
        nonlocal mean, square, n_steps
        n_steps += 1
        mean = keep_mean * mean + (1.0 - keep_mean) * gradient
        square = keep_square * square + (1.0 - keep_square) * gradient**2
        corrected = xp.sqrt(square / (1.0 - keep_square**n_steps))
        return step / (1.0 - keep_mean**n_steps) * mean / (corrected + 1e-8)

    return direction
