"""CUDA C compiled by g++ and run on the CPU, for tests of what a GPU would run.

The threads of a block are coroutines that take turns from barrier to barrier, first to last or last to first. A
thread that reads what another thread has not written yet, or has overwritten already, computes something else in one of
the two orders. A thread that leaves out a barrier at which others wait is reported.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np

COMPILER = shutil.which("g++")

_BEFORE = r"""
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ucontext.h>
#define __global__
#define __device__
#define __forceinline__ static inline  // its constants are not to be shared with other libraries
#define __launch_bounds__(n)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
using std::exp; using std::sqrt; using std::log; using std::cos; using std::sin;
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
struct Index { unsigned x, y, z; };
static Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {
struct Thread { ucontext_t context; std::vector<char> stack; bool done; };
static ucontext_t scheduler;
static std::vector<Thread> threads;
static int current, waiting;
static void (*body)();
static void barrier() { ++waiting; swapcontext(&threads[current].context, &scheduler); threadIdx.x = current; }
static void run() { body(); threads[current].done = true; }

// One block: every thread up to its next barrier, until all are done. False where some wait and others are gone.
static bool block(int n, bool backwards)
{
    threads.resize(n);
    for (auto& thread : threads) {
        thread.stack.resize(1 << 17);
        thread.done = false;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        thread.context.uc_link = &scheduler;
        makecontext(&thread.context, run, 0);
    }
    for (;;) {
        waiting = 0;
        for (int k = 0; k < n; ++k) {
            current = backwards ? n - 1 - k : k;
            threadIdx = {(unsigned)current, 0, 0};
            swapcontext(&scheduler, &threads[current].context);
        }
        if (waiting == 0) return true;
        if (waiting != n) return false;
    }
}
}
#define __syncthreads() emulator::barrier()
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
"""

_AFTER = r"""
template <class... A, std::size_t... I>
static void call(void (*f)(A...), void** a, std::index_sequence<I...>) { f(*(std::remove_const_t<A>*)a[I]...); }
template <class... A>
static void call(void (*f)(A...), void** a) { call(f, a, std::index_sequence_for<A...>{}); }

static void** arguments;
extern "C" int launch(const unsigned* grid, unsigned n_threads, int backwards, void** a)
{
    arguments = a;
    emulator::body = [] { call(NAME, arguments); };
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {n_threads, 1, 1};
    for (unsigned z = 0; z < grid[2]; ++z)
        for (unsigned y = 0; y < grid[1]; ++y)
            for (unsigned x = 0; x < grid[0]; ++x) {
                blockIdx = {x, y, z};
                if (!emulator::block(n_threads, backwards)) return 1;
            }
    return 0;
}
"""

_ALONE = threading.Lock()
"""A library has one grid and one shared memory, and products of several threads meet in it."""

_EACH = r"""
extern "C" void each(const REAL* x, REAL* y, long long n) { for (long long k = 0; k < n; ++k) y[k] = radial(x[k]); }
"""


KEPT = Path(__file__).resolve().parents[1] / ".pytest_cache" / "d" / "cuda"
"""Libraries by the hash of all that they are made of: compiling takes a minute. `--cache-clear` removes them."""

OPTIONS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fPIC")
"""A header that is compiled before and what includes it must share them."""


def compile_with(*arguments: str) -> None:
    subprocess.run([COMPILER, *OPTIONS, *arguments], check=True, capture_output=True, text=True)


@functools.cache
def compiler() -> str:
    return subprocess.run([COMPILER, "--version"], check=True, capture_output=True, text=True).stdout


def library(source: str, folder: Path, *, threads: bool = True) -> ctypes.CDLL:
    """A shared library of C++ text behind `_BEFORE`, or alone where there are no threads: compiled once, and kept.

    What comes before is compiled once a folder: it is more than a third of the work of each library.
    """
    before = _BEFORE if threads else ""
    stem = hashlib.sha256("\0".join([compiler(), *OPTIONS, before, source]).encode()).hexdigest()[:24]
    path = KEPT / f"{stem}.so"
    if not path.exists():
        header, text, made = folder / "before.hpp", folder / f"{stem}.cpp", KEPT / f"{stem}.{os.getpid()}"
        if threads and not header.exists():
            header.write_text(before)
            compile_with("-x", "c++-header", "-o", f"{header}.gch", str(header))
        text.write_text(source)
        KEPT.mkdir(parents=True, exist_ok=True)
        compile_with("-shared", *(["-include", str(header)] if threads else []), "-o", str(made), str(text))
        # Another process that tests may want it too, and shall find it whole.
        made.replace(path)
    return ctypes.CDLL(str(path))


def compiled(source: str, name: str, folder: Path, *, backwards: bool = False):
    """What ``cupy.RawKernel(source, name)`` is, for NumPy arrays: called as ``f(grid, block, arguments)``."""
    launch = library(f"{source}\n#define NAME {name}\n{_AFTER}", folder).launch

    def function(grid, block, arguments):
        assert len(grid) == len(block) == 3
        assert all(isinstance(size, int) and size >= 1 for size in (*grid, *block))
        assert block[1:] == (1, 1)
        # Scalars are copied by their own size, as CuPy does, so a wrong width would be seen in what is computed.
        values = [
            ctypes.c_void_p(part.ctypes.data)
            if isinstance(part, np.ndarray)
            else (ctypes.c_char * part.nbytes).from_buffer_copy(part.tobytes())
            for part in arguments
        ]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        with _ALONE:
            status = launch((ctypes.c_uint * 3)(*grid), block[0], backwards, pointers)
        assert status == 0, "threads part at a barrier"

    return function


def elementwise(source: str, folder: Path):
    """What ``cupy.ElementwiseKernel`` is for ``value = radial(scaled)``, for NumPy arrays of any layout."""
    each = library(f"{source}\n{_EACH}", folder).each

    def function(scaled, value):
        flat = np.ascontiguousarray(scaled)
        each(ctypes.c_void_p(flat.ctypes.data), ctypes.c_void_p(flat.ctypes.data), ctypes.c_longlong(flat.size))
        value[...] = flat
        return value

    return function


def elementwise_kernel(inputs: str, outputs: str, operation: str, folder: Path):
    """What ``cupy.ElementwiseKernel`` is where all types are ``T``, for NumPy arrays: ``f(*inputs, *outputs)``.

    Every element has its own turn, first to last, so an expression that reads another element's output is not detected.
    """
    read, written = ([part.split()[1] for part in text.split(",")] for text in (inputs, outputs))
    parameters = ", ".join([f"const T* p_{name}" for name in read] + [f"T* p_{name}" for name in written])
    here = "".join(f"const T {name} = p_{name}[k]; " for name in read)
    here += "".join(f"T& {name} = p_{name}[k]; " for name in written)
    loop = f"for (long long k = 0; k < n; ++k) {{ {here}{operation}; }}"
    text = f'extern "C" void each({parameters}, long long n) {{ {loop} }}'

    def kernel(*operands):
        last = operands[-1]
        kind = {"float32": "float", "float64": "double"}[str(last.dtype)]
        assert all(isinstance(part, (np.ndarray, np.generic)) and part.dtype == last.dtype for part in operands)
        shape = np.broadcast_shapes(*(np.shape(part) for part in operands))
        assert all(part.shape == shape for part in operands[len(read) :])
        flat = [np.array(np.broadcast_to(part, shape), order="C") for part in operands]
        pointers = [ctypes.c_void_p(part.ctypes.data) for part in flat]
        source = f"#include <cmath>\nusing std::cos; using std::sin;\ntypedef {kind} T;\n{text}"
        library(source, folder, threads=False).each(*pointers, ctypes.c_longlong(last.size))
        for part, made in zip(operands[len(read) :], flat[len(read) :], strict=True):
            part[...] = made

    return kernel
