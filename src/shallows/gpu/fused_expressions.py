"""Elementwise expressions that a GPU evaluates in one launch.

CuPy launches a kernel for each operation of an expression. A launch costs the host 15 to 35 µs, which is most of the
time for arrays of a few thousand numbers.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from . import cuda


@dataclass(frozen=True)
class FusedExpression:
    """An elementwise expression of named operands, which broadcast, compiled on a GPU; outputs may also be read."""

    name: str  # For profilers
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operation: str  # The expression for one element in C, in which ``T`` is the type of all operands
    # ``plain(*inputs, *outputs)`` writes the outputs with the array library's own operations
    plain: Callable[..., None]
    example: tuple[tuple[int, ...], ...]  # Shapes of inputs for the comparison

    def __call__(self, *inputs: Array | float, into: tuple[Array, ...]) -> None:
        """Write the outputs into arrays of one shape and one floating dtype, which is also the dtype of the inputs."""
        kernel = self._kernel(into[0]) if cuda.is_enabled(into[0]) else None
        if kernel is None:
            self.plain(*inputs, *into)
        else:
            number = into[0].dtype.type
            kernel(*(number(part) if isinstance(part, (int, float)) else part for part in inputs), *into)

    def _kernel(self, like: Array) -> Callable[..., None] | None:
        """The compiled expression, or None if its values differ from the plain expression."""

        def make() -> Callable[..., None]:
            made = compiled(arrays.namespace(like), self)
            draws, dtype = np.random.default_rng(0), np.dtype(str(like.dtype))
            inputs = [np.asarray(draws.uniform(0.5, 2.0, shape), dtype=dtype) for shape in self.example]
            shape = np.broadcast_shapes(*self.example)
            before = [np.asarray(draws.uniform(0.5, 2.0, shape), dtype=dtype) for _ in self.outputs]
            there = [arrays.like(part, like) for part in before]
            made(*(arrays.like(part, like) if part.ndim else dtype.type(part) for part in inputs), *there)
            exact = [part.astype(np.float64) for part in before]
            self.plain(*(part.astype(np.float64) for part in inputs), *exact)
            # NumPy's max keeps NaN. An output may be zero everywhere.
            pairs = zip((arrays.to_numpy(part) for part in there), exact, strict=True)
            error = float(np.max([np.abs(a - b).max() / (np.abs(b).max() or 1.0) for a, b in pairs]))
            if not error < 32 * np.finfo(dtype).eps:
                raise ArithmeticError(f"values of {self.name} are off by {error:.1e}")
            return made

        return cuda.first_use(("expression", self.name, self.operation, str(like.dtype)), make, like)


def fused(operation: str, *example: tuple[int, ...]) -> Callable[[Callable[..., None]], FusedExpression]:
    """Make a `FusedExpression` of its plain form, whose parameters are the inputs, as many as examples, and outputs."""

    def decorate(plain: Callable[..., None]) -> FusedExpression:
        names = tuple(inspect.signature(plain).parameters)
        inputs, outputs = names[: len(example)], names[len(example) :]
        return FusedExpression(plain.__name__, inputs, outputs, operation, plain, example)

    return decorate


def compiled(xp: Any, expression: FusedExpression) -> Callable[..., None]:
    """The ``ElementwiseKernel`` of an expression; its arguments are the inputs and the outputs."""
    declared = [", ".join(f"T {name}" for name in names) for names in (expression.inputs, expression.outputs)]
    return xp.ElementwiseKernel(*declared, expression.operation, f"shallows_{expression.name}")
