"""EigenPro's first release for many draws of its sketch: its steps along the top direction, and its losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shallows import arrays, kernels
from shallows.fitting.rsvd_preconditioner import fit_rsvd_preconditioner
from shallows.solvers.least_squares.step_rules import Release2017
from shallows.spectrum import Preconditioner
from shallows.training.steps import Batches

from ..results import AnalysisResult
from ..samples import codes

#: The step along the top direction in the second series: the authors' later rule 1.5/λ₁, by the measured λ₁.
MEASURED_STEP = 1.5

#: Rows of the kernel matrix in a block of a product.
BLOCK = 512


def released_draws(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 160,
    n_subsample: int = 4800,
    batch_size: int = 256,
    eta: float = 5.0,
    draws: Sequence[int] = tuple(range(12)),
    epochs: Sequence[int] = (1, 5),
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """The iteration of the first release with the sketches of several seeds and the same batches for all of them.

    A sketch is what a run of ``eigenpro_2017`` with this seed has. All iterations share the kernel values of a batch,
    so that more draws cost little. Twice: with the released step η √(λ̂₁/λ̂_{q+1}), and with the step that is
    `MEASURED_STEP` along the top direction of the preconditioned operator.

    Over draws: ``estimate`` λ̂₁/λ₁, ``alignment`` c² of the estimated and the true top eigenvector, ``top_step`` the
    effective step η √(λ̂₁/λ̂_{q+1}) ⟨e₁, P K e₁⟩/n, which has to stay below 2, ``top_step_formula`` the same with the
    first estimated direction alone, ηλ₁ (1 − (1 − e)(λ₁/λ̂₁) c²)/e with e = √(λ̂_{q+1}/λ̂₁), and ``loss_<t>`` and
    ``measured_loss_<t>``, the training loss after t epochs with the two steps.
    """
    device_of_fit = arrays.resolve_device(device)
    X, n = data.x_train, data.x_train.shape[0]
    found = [
        fit_rsvd_preconditioner(
            X, kernel, bandwidth, rank=rank, n_subsample=n_subsample, power=0.5, random_state=seed, device=device
        )
        for seed in draws
    ]
    with device_of_fit.active():
        inputs = arrays.to_device(X - X.mean(axis=0, dtype=np.float64), device_of_fit, np.float32)
        Y = arrays.to_device(codes(np.asarray(data.y_train)), device_of_fit, np.float32)
        points, of_points = kernels.augmented(inputs), found[0].kernel
        problem = _Sketches(of_points, points, found, device_of_fit)
        steps = [Release2017(eta)(p, batch_size, n) for p in found]
        top_steps = [batch_size * step * top for step, top in zip(steps, problem.preconditioned, strict=True)]
        measured = [MEASURED_STEP * step / top for step, top in zip(steps, top_steps, strict=True)]
        losses = _train(problem, Y, [*steps, *measured], batch_size, epochs, random_state)
    ratios = [float(p.eigenvalues[0]) / problem.top for p in found]
    ends = [math.sqrt(float(p.eigenvalues[-1]) / float(p.eigenvalues[0])) for p in found]
    by_formula = [
        eta * problem.top * (1.0 - (1.0 - end) / ratio * c2) / end
        for end, ratio, c2 in zip(ends, ratios, problem.alignments, strict=True)
    ]
    k = len(found)
    curve = {
        "estimate": ratios,
        "alignment": problem.alignments,
        "top_step": top_steps,
        "top_step_formula": by_formula,
        **{f"loss_{epoch}": values[:k] for epoch, values in losses.items()},
        **{f"measured_loss_{epoch}": values[k:] for epoch, values in losses.items()},
    }
    numbers = {"formula_error": max(abs(a / b - 1.0) for a, b in zip(by_formula, top_steps, strict=True))}
    effective = {"kernel": kernel, "bandwidth": of_points.bandwidth, "n_points": n, "top_eigenvalue": problem.top}
    return AnalysisResult(
        list(draws), curve, numbers, {**effective, "device": str(device_of_fit), "batch_size": batch_size}
    )


class _Sketches:
    """The preconditioners of the draws in the order of the data, with what their steps need of the kernel matrix."""

    def __init__(self, kernel: Any, points: Any, found: Sequence[Preconditioner], device: Any):
        xp = arrays.namespace(points)
        self.kernel, self.points = kernel, points
        n = points.shape[0]
        vectors = []
        for p in found:
            held = np.empty(p.vectors.shape, dtype=np.float32)
            held[p.indices] = arrays.to_numpy(p.vectors)
            vectors.append(arrays.to_device(held, device, np.float32))
        self.places = np.cumsum([0, *(v.shape[1] for v in vectors)])
        products = self.product(xp.concat(vectors, axis=1))  # K V, shape (n, Σ q)
        # One power step from an estimate that is right to a thousandth: e₁ of K to some 10⁻⁴.
        first = products[:, 0] / xp.linalg.norm(products[:, 0])
        image = self.product(first[:, None])[:, 0]
        self.top = float(first @ image) / n
        self.alignments = [float(first @ v[:, 0]) ** 2 for v in vectors]
        scales = [xp.sqrt(p.scale) for p in found]
        self.directions = [v * s[None, :] for v, s in zip(vectors, scales, strict=True)]  # V diag(s)^½
        self.functions = products * xp.concat(scales)[None, :]  # K V diag(s)^½
        along = (self.functions.T @ first) ** 2
        spans = [slice(start, stop) for start, stop in zip(self.places[:-1], self.places[1:], strict=True)]
        self.spans = spans
        self.preconditioned = [self.top - float(xp.sum(along[span])) / n for span in spans]

    def product(self, columns: Any) -> Any:
        """K times columns, in float32."""
        xp, n = arrays.namespace(self.points), self.points.shape[0]
        blocks = arrays.blocks(n, BLOCK)
        return xp.concat([kernels.values(self.kernel, self.points[rows, :], self.points) @ columns for rows in blocks])


def _train(
    problem: _Sketches, Y: Any, steps: Sequence[float], batch_size: int, epochs: Sequence[int], seed: int
) -> Mapping[int, list[float]]:
    """The mean squared residual after each number of epochs, for every step; there are two steps for each draw."""
    xp, (n, c) = arrays.namespace(Y), Y.shape
    spans = [*problem.spans, *problem.spans]
    points = xp.zeros((n, c * len(steps)), dtype=Y.dtype)
    flattened = [xp.zeros((span.stop - span.start, c), dtype=Y.dtype) for span in spans]
    losses = {}
    for epoch in range(max(epochs)):
        for batch in Batches(n, batch_size, seed=seed, shuffle=True).of_epoch(epoch):
            outputs = kernels.values(problem.kernel, problem.points[batch, :], problem.points) @ points
            for i, (step, span) in enumerate(zip(steps, spans, strict=True)):
                columns = slice(i * c, (i + 1) * c)
                functions = problem.functions[batch, span]
                gradient = outputs[:, columns] + functions @ flattened[i] - Y[batch, :]
                points[batch, columns] -= step * gradient
                flattened[i] += step * (functions.T @ gradient)
        if epoch + 1 in epochs:
            outputs = problem.product(points)
            losses[epoch + 1] = [
                float(xp.mean((outputs[:, i * c : (i + 1) * c] + problem.functions[:, span] @ flattened[i] - Y) ** 2))
                for i, span in enumerate(spans)
            ]
    return losses
