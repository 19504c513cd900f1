"""NumPy arrays that pass for CuPy's and count what a GPU would be asked to do.

`CountedArray` holds a NumPy array, computes with NumPy, and writes into a `Ledger` what CuPy 14 does for the same
expression: a launch for every elementwise operation, reduction, fill and copy; a product for every call of cuBLAS, with
a launch for each operand that is neither C- nor F-contiguous, which CuPy copies first; a synchronization where the
host waits for a number. Views cost nothing. Bytes are those that an operation reads and writes.

What would raise with CuPy raises here too: a CuPy array does not become a NumPy array by itself, nor take one as an
operand.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

import cuda_on_cpu
from imitated_tf32 import Precision

REDUCTIONS = {"sum", "mean", "max", "min", "all", "any", "var", "argmax", "argmin", "prod"}
ELEMENTWISE = {
    *("exp", "sqrt", "log", "cos", "sin", "abs", "sign", "negative", "reciprocal", "isfinite", "tanh", "square"),
    *("maximum", "minimum", "where", "clip", "log1p", "expm1", "logaddexp", "add", "multiply", "tan", "floor"),
}
CONSTANT = {"pi", "inf", "nan", "float32", "float64", "int32", "int64", "uint64", "bool", "newaxis"}


@dataclass
class Ledger:
    """What was asked of the device.

    Attributes
    ----------
    launches : Counter
        Kernels by what they do, products among them.
    synchronisations : Counter
        By what the host waited for.
    bytes : int
        Read and written by all launches.
    flops : int
        Of products alone.
    """

    launches: Counter = field(default_factory=Counter)
    synchronisations: Counter = field(default_factory=Counter)
    bytes: int = 0
    flops: int = 0

    @property
    def n_launches(self) -> int:
        """All launches."""
        return sum(self.launches.values())

    @property
    def n_synchronisations(self) -> int:
        """All waits of the host."""
        return sum(self.synchronisations.values())

    @property
    def copied_operands(self) -> int:
        """Operands of products that were copied first."""
        return self.launches["copy of an operand"]

    def launch(self, what: str, *parts: np.ndarray) -> None:
        """Note a launch that reads or writes some arrays."""
        self.launches[what] += 1
        self.bytes += sum(part.nbytes for part in parts)

    def clear(self) -> None:
        """Start again."""
        self.launches.clear()
        self.synchronisations.clear()
        self.bytes = self.flops = 0


LEDGER = Ledger()


class CountedArray:
    """A NumPy array that counts; for the package it is one of CuPy's, on the first GPU."""

    device = SimpleNamespace(id=0)
    __array_ufunc__ = None  # NumPy hands an operation with one of these back to it.

    def __init__(self, held: np.ndarray):
        self.held = np.asarray(held)

    T = property(lambda self: CountedArray(self.held.T))

    def __array_namespace__(self):
        return NAMESPACE

    def __array__(self, *arguments, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __len__(self):
        return len(self.held)

    def __getitem__(self, index):
        bare = _bare(index) if isinstance(index, tuple) else (_bare(index),)
        found = self.held[
            bare if any(part is Ellipsis for part in bare) else (*bare, ...)
        ]  # so that one number is a view as well
        if not np.may_share_memory(found, self.held):
            LEDGER.launch("take", found, found)
        return CountedArray(found)

    def __setitem__(self, index, value):
        part = self.held[_bare(index)]
        other = _bare(value)
        if isinstance(other, np.ndarray) and _is_same(part, other):
            return  # as after x[rows] += y
        LEDGER.launch("assignment", part, *([other] if isinstance(other, np.ndarray) else []))
        self.held[_bare(index)] = other

    def __matmul__(self, other):
        return _product(self, other)

    def __pow__(self, other):
        return _elementwise("power", np.power, self, other)

    def __float__(self):
        return float(_waited("float", self))

    def __int__(self):
        return int(_waited("int", self))

    def __index__(self):
        return int(_waited("int", self))

    def __bool__(self):
        return bool(_waited("bool", self))

    def reshape(self, *shape):
        """A view where NumPy makes one."""
        return NAMESPACE.reshape(self, shape[0] if isinstance(shape[0], tuple) else shape)

    def astype(self, dtype, copy=True):
        """In another precision."""
        if not copy and self.dtype == dtype:
            return self
        return _make("astype", self.held.astype(dtype), self.held)

    def transpose(self, *axes):
        """A view."""
        return CountedArray(self.held.transpose(*axes))

    def diagonal(self):
        """A view."""
        return CountedArray(self.held.diagonal())


def _operator(name, function):
    def forward(self, other):
        return _elementwise(name, function, self, other)

    def backward(self, other):
        return _elementwise(name, function, other, self)

    def in_place(self, other):
        LEDGER.launch(name, self.held, self.held, *([other.held] if isinstance(other, CountedArray) else []))
        function(self.held, _operand(other), out=self.held)
        return self

    return forward, backward, in_place


for _name, _function in {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "rshift": np.right_shift},
    **{"lshift": np.left_shift, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor},
}.items():
    for _prefix, _method in zip(("", "r", "i"), _operator(_name, _function), strict=True):
        setattr(CountedArray, f"__{_prefix}{_name}__", _method)
for _name in ("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides"):
    setattr(CountedArray, _name, property(operator.attrgetter(f"held.{_name}")))
for _name, _function in {
    **{"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}
}.items():
    setattr(CountedArray, f"__{_name}__", _operator(_name, _function)[0])
for _name in REDUCTIONS:
    setattr(CountedArray, _name, lambda self, _name=_name, **options: getattr(NAMESPACE, _name)(self, **options))
CountedArray.__neg__ = lambda self: _elementwise("neg", np.negative, self)
CountedArray.__abs__ = lambda self: _elementwise("abs", np.abs, self)
CountedArray.__hash__ = None
CountedArray.__module__ = "cupy"  # by which the package knows whose an array is


class _Namespace:
    """What stands for the module ``cupy``."""

    __name__ = "cupy"
    linalg = SimpleNamespace()
    cuda = None
    _core = SimpleNamespace(_routines_linalg=Precision())
    get_default_memory_pool = None
    folder = None
    """Where kernels are compiled; without one there is no compiler."""

    def __getattr__(self, name):
        if name in CONSTANT:
            return getattr(np, name)
        if name in ELEMENTWISE:
            return lambda *parts, **options: _elementwise(name, getattr(np, name), *parts, **options)
        if name in REDUCTIONS:
            return lambda x, **options: _make(name, getattr(np, name)(x.held, **options), x.held)
        raise AttributeError(f"the counted namespace knows no {name}")

    def finfo(self, dtype):
        return np.finfo(dtype)

    def empty(self, shape, dtype=float):
        return CountedArray(np.empty(shape, dtype=dtype))

    def zeros_like(self, x):
        return self.zeros(x.shape, x.dtype)

    def ones_like(self, x):
        return self.ones(x.shape, x.dtype)

    def empty_like(self, x):
        return self.empty(x.shape, x.dtype)

    def asarray(self, x, dtype=None, copy=None):
        if isinstance(x, CountedArray):
            same = not copy and (dtype is None or x.dtype == dtype)
            return x if same else _make("copy", np.array(x.held, dtype=dtype), x.held)
        return _make("transfer to the device", np.array(x, dtype=dtype))

    def array(self, x, dtype=None, order="K", copy=True):
        return self.asarray(x, dtype=dtype, copy=copy)

    def ascontiguousarray(self, x):
        x = self.asarray(x)
        return x if x.held.flags.c_contiguous else _make("copy", np.ascontiguousarray(x.held), x.held)

    def asnumpy(self, x):
        return np.array(_waited("transfer to the host", x))

    def reshape(self, x, shape):
        made = x.held.reshape(shape)
        return CountedArray(made) if np.may_share_memory(made, x.held) else _make("copy", made, x.held)

    def permute_dims(self, x, axes):
        return CountedArray(x.held.transpose(axes))

    def take(self, x, indices, axis=None):
        return _make("take", np.take(x.held, indices.held, axis=axis))

    def flip(self, x, axis=None):
        return CountedArray(np.flip(x.held, axis=axis))

    def diagonal(self, x, *arguments):
        return CountedArray(np.diagonal(x.held, *arguments))

    def einsum(self, subscripts, *parts):
        return _make("reduction", np.einsum(subscripts, *(part.held for part in parts)), *(part.held for part in parts))

    def matmul(self, a, b, out=None):
        return _product(a, b, out)

    def ElementwiseKernel(self, inputs, outputs, operation, name="kernel"):
        kernel = cuda_on_cpu.elementwise_kernel(inputs, outputs, operation, compilers_folder())

        def launch(*operands):
            bare = [part.held if isinstance(part, CountedArray) else part for part in operands]
            kernel(*bare)
            # Of what broadcasts, an element is read once.
            LEDGER.launch(name, *(part for part in bare if isinstance(part, np.ndarray)))

        return launch


def _creation(function):
    return lambda self, *arguments, **options: _make("fill", function(*arguments, **options))


def _joining(name, function):
    return lambda self, parts, axis=0: _make(
        name, function([x.held for x in parts], axis=axis), *(x.held for x in parts)
    )


for _name in ("zeros", "ones", "full", "eye", "arange"):
    setattr(_Namespace, _name, _creation(getattr(np, _name)))
_Namespace.concat, _Namespace.stack = _joining("concat", np.concatenate), _joining("concat", np.stack)
for _name in ("sort", "argsort"):
    _sort = getattr(np, _name)
    setattr(_Namespace, _name, lambda self, x, _sort=_sort, **options: _make("sort", _sort(x.held, **options), x.held))
NAMESPACE = _Namespace()


def _library_call(name, function):
    def call(x, *arguments):
        made = function(x.held, *(_operand(other) for other in arguments))
        LEDGER.launch(f"linalg.{name}", x.held)
        return tuple(map(CountedArray, made)) if isinstance(made, tuple) else CountedArray(made)

    return call


for _name in ("qr", "eigh", "inv", "cholesky", "solve"):
    setattr(NAMESPACE.linalg, _name, _library_call(_name, getattr(np.linalg, _name)))


def counted(x) -> CountedArray:
    """An array on the pretended GPU; not counted itself."""
    return CountedArray(np.array(x))


def compilers_folder():
    """Where kernels are compiled for the CPU; it raises as where there is no compiler if none was given."""
    if NAMESPACE.folder is None:
        raise NotImplementedError("there is no compiler for it here")
    return NAMESPACE.folder


def _bare(x):
    if isinstance(x, tuple):
        return tuple(map(_bare, x))
    return x.held if isinstance(x, CountedArray) else x


def _is_same(part, other):
    starts = [x.__array_interface__["data"] for x in (part, other)]
    return other.shape == part.shape and other.strides == part.strides and starts[0] == starts[1]


def _operand(x):
    """What CuPy combines with its own array: another one, or a number."""
    if isinstance(x, CountedArray):
        return x.held
    if isinstance(x, np.ndarray) and x.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return x


def _make(what, made, *read):
    made = np.asarray(made)
    LEDGER.launch(what, made, *read)
    return CountedArray(made)


def _elementwise(name, function, *parts, out=None, **options):
    bare = [_operand(part) for part in parts]
    # As with CuPy, a number takes the precision of the arrays next to it.
    bare = [part.item() if isinstance(part, np.generic) and name != "power" else part for part in bare]
    if out is not None:
        options["out"] = out.held
    made = function(*bare, **options)
    LEDGER.launch(name, np.asarray(made), *(part for part in bare if isinstance(part, np.ndarray)))
    return out if out is not None else CountedArray(made)


def _product(a, b, out=None):
    a, b = (_operand(part) for part in (a, b))
    for operand in (a, b):
        if operand.ndim == 2 and not (operand.flags.c_contiguous or operand.flags.f_contiguous):
            LEDGER.launch("copy of an operand", operand, operand)
    made = np.matmul(*(NAMESPACE._core._routines_linalg.factor(part) for part in (a, b)))
    LEDGER.launch("product", a, b, made)
    LEDGER.flops += 2 * math.prod(made.shape) * a.shape[-1]
    if out is None:
        return CountedArray(made)
    if not out.held.flags.c_contiguous:
        LEDGER.launch("copy of a result", made, made)
    out.held[...] = made
    return out


def _waited(what, x):
    LEDGER.synchronisations[what] += 1
    return x.held
