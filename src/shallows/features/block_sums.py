"""Functions that are sums over blocks of streamed features: their values, and products with their features."""

from typing import Any

import scipy.sparse

from .. import arrays
from ..arrays import Array
from .base import FeatureStream, FourierStream, Projector, inner_products, scaled
from .fourier import join, waves

STRIP_BYTES = 2**20
"""Bytes of the angles of a strip of points and one block, which should stay in the cache for the next product."""

GROUPED_FREQUENCIES = 512
"""Smaller blocks are computed together up to this number: a product with few columns is slow."""

STRIP_BYTES_ELSEWHERE = 2**28
"""The same on a GPU, which needs large pieces."""

DEFAULT_BUDGET = 2**28


def evaluate(
    features: FeatureStream,
    x: Array,
    coefficients: Array,
    *,
    first: int = 0,
    budget: int = DEFAULT_BUDGET,
) -> Array:
    """f(x) = Σⱼ block(first + j, x) @ coefficients[j].

    Threads share strips of points, and every strip uses the blocks in their order, so the sum does not depend on the
    number of threads. Frequencies that are not in the cache of ``features`` are drawn once for all threads.
    """
    xp = arrays.namespace(x)
    n_blocks, width, c = coefficients.shape
    m, F = x.shape[0], features.block_size
    if n_blocks == 0 or m == 0:
        return xp.zeros((m, c), dtype=x.dtype)
    streamed = hasattr(features, "projector")
    # On a GPU the first product is written, because adding it to zeros costs a launch.
    written = streamed and arrays.supports_out(x) and not arrays.is_numpy(x)
    out = (xp.empty if written else xp.zeros)((m, c), dtype=x.dtype)
    if not streamed:
        rows = max(1, budget // (width * arrays.itemsize(x)))
        for strip in arrays.blocks(m, rows):
            for j in range(n_blocks):
                out[strip, :] += features.block(first + j, x[strip, :]) @ coefficients[j, :, :]
        return out
    itemsize = arrays.itemsize(x)
    n_workers = max(1, min(arrays.workers_for(x), m))
    n_drawn = max(n_workers, budget // (F * features.n_inputs * itemsize))
    together = max(1, min(n_blocks, n_drawn, GROUPED_FREQUENCIES // F))
    strip_bytes = STRIP_BYTES if arrays.is_numpy(x) else min(STRIP_BYTES_ELSEWHERE, budget)
    rows = max(1, min(m, strip_bytes // (together * F * itemsize)))
    share = -(-m // n_workers)
    for chunk in arrays.blocks(n_blocks, n_drawn):
        drawn = _draw(features, range(first + chunk.start, first + chunk.stop), x, n_workers)
        groups = [
            _group(drawn[part], coefficients[chunk.start + part.start : chunk.start + part.stop, :, :], F)
            for part in arrays.blocks(len(drawn), together)
        ]

        def work(worker: int, groups: list = groups, first_chunk: bool = chunk.start == 0) -> None:
            mine = slice(worker * share, min(m, (worker + 1) * share))
            if mine.start >= mine.stop:
                return
            space = xp.empty(min(rows, mine.stop - mine.start) * together * width, dtype=x.dtype)
            for strip in arrays.blocks(mine.stop - mine.start, rows):
                strip = slice(mine.start + strip.start, mine.start + strip.stop)
                points, sums = x[strip, :], out[strip, :]
                for place, (projector, phases, A) in enumerate(groups):
                    shape = (strip.stop - strip.start, A.shape[0])
                    values = xp.reshape(space[: shape[0] * shape[1]], shape)
                    waves(points, projector, phases, values, rows)
                    if written and first_chunk and place == 0:
                        arrays.matmul_into(values, A, sums)
                    else:
                        sums += values @ A
                if not arrays.is_numpy(x):
                    out[strip, :] = sums

        arrays.in_threads(work, n_workers)
    return out


Drawn = tuple[Projector, Array | None]
"""Projection and phases of a block, or of several."""


def _group(drawn: list[Drawn], A: Array, F: int) -> tuple[Projector, Array | None, Array]:
    """Several blocks as one block: projection, phases, and coefficients in the order of its columns."""
    xp = arrays.namespace(A)
    if len(drawn) == 1:
        return *drawn[0], A[0, :, :]
    n_blocks, width, c = A.shape
    halves = xp.permute_dims(xp.reshape(A, (n_blocks, width // F, F, c)), (1, 0, 2, 3))
    phases = None if drawn[0][1] is None else xp.concat([b for _, b in drawn])
    return join([projector for projector, _ in drawn]), phases, xp.reshape(halves, (-1, c))


def _draw(features: FourierStream, numbers: range, x: Array, n_workers: int) -> list[Drawn]:
    """Projections and phases of some blocks, drawn in threads if they are not in the cache."""
    drawn: list[Any] = [None] * len(numbers)

    def work(worker: int) -> None:
        for place in range(worker, len(numbers), n_workers):
            i = numbers[place]
            phases = features.phases(i, x) if features.form == "cosine" else None
            drawn[place] = (features.projector(i, x), phases)

    arrays.in_threads(work, n_workers)
    return drawn


def correlate(
    features: FeatureStream,
    i: int,
    x: Array,
    g: Array,
    *,
    with_gram: bool = False,
    weights: Array | None = None,
    budget: int = DEFAULT_BUDGET,
) -> tuple[Array, Array | None]:
    """Φᵀg and, if requested, Φᵀ diag(weights) Φ, with Φ = block(i, x); strips of points fit into the budget."""
    xp = arrays.namespace(x)
    rows = max(1, min(x.shape[0], budget // (features.width * arrays.itemsize(x))))
    if rows == x.shape[0] and arrays.device_of(x).kind != "cpu" and hasattr(features, "projector"):
        # A single piece needs no sums, which saves a GPU four launches.
        values = features.block(i, x)
        product = values.T @ g
        if with_gram:
            values = values if weights is None else values * xp.sqrt(weights)
        return product, values.T @ values if with_gram else None
    product = xp.zeros((features.width, g.shape[1]), dtype=x.dtype)
    gram = xp.zeros((features.width, features.width), dtype=x.dtype) if with_gram else None
    for strip in arrays.blocks(x.shape[0], rows):
        values = features.block(i, x[strip, :])
        product += values.T @ g[strip, :]
        if gram is not None:
            if weights is not None:
                values = scaled(values, xp.sqrt(weights[strip, :]))
            gram += inner_products(values.T, values.T) if scipy.sparse.issparse(values) else values.T @ values
    return product, gram
