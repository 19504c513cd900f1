"""Products without a kernel matrix: the CUDA text itself, run on the CPU, against the formulas in float64."""

# ruff: noqa: F811 (a test that takes an imported fixture names it once more)
import numpy as np
import pytest

from fused_example import EPS, RADIAL, case, error, folder, formula, gpu, needs_compiler, there  # noqa: F401
from shallows import gram, kernels
from shallows.gpu import cuda
from shallows.gram import fused

pytestmark = [pytest.mark.slow, needs_compiler]


def product(kernel, x, z, a, extra=None):
    points = there(kernels.augmented(z))
    assert fused.is_applicable(kernel, points, there(a))
    return fused.product(kernel, there(x), points, there(a), extra)


# ------------------------------------------------------------------------------------------ the product


# The text of a kernel and the loops around it are compiled for each: every kernel has one shape, and one kernel all.
SHAPES = [(130, 129, 3, 3), (1, 1, 2, 1), (129, 2100, 18, 10)]
CASES = [*((kernel, SHAPES[0]) for kernel in RADIAL), *((RADIAL[1], shape) for shape in SHAPES[1:])]


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize(("kernel", "shape"), CASES, ids=str)
def test_a_product_is_that_of_the_formula(gpu, kernel, shape, dtype):
    m, n, d, c = shape
    x, z, a = case(m, n, d, c, dtype)
    found = product(kernel, x, z, a)
    assert found.shape == (m, c)
    assert found.dtype == dtype
    # The rounding of d squares, of the kernel's functions and of sums over one tile.
    assert error(found, kernel, x, z, a) < (d + 24) * EPS[dtype]


@pytest.mark.parametrize("n", [0, 1, 127, 129, 2047, 2048])
def test_tiles_and_splits_of_every_size_are_summed_once(gpu, n):
    kernel, (x, z, a) = kernels.Cauchy(1.0), case(3, n, 2, 1)
    found = product(kernel, x, z, a)
    assert n == 0 or error(found, kernel, x, z, a) < 1e-13
    assert found.any() == (n > 0)
    assert n in (0, 2047) or gpu[-1][1] == max(1, n // 1024)


def test_rows_may_be_parts_of_longer_ones_and_columns_may_come_in_any_order(gpu):
    kernel, (x, z, a) = kernels.Gaussian(1.0), case(33, 150, 4, 3)
    points, wanted = there(kernels.augmented(z)), product(kernel, x, z, a)
    wide = there(kernels.augmented(x))
    for xs in (wide, wide[:, :4], there(np.asfortranarray(x)), there(np.repeat(x, 2, axis=0))[::2], wide[::-1][::-1]):
        assert np.array_equal(fused.product(kernel, xs, points, there(a)), wanted)
    for ws in (np.asfortranarray(a), np.hstack([a, a])[:, 3:], a[::-1].copy()[::-1]):
        assert np.array_equal(fused.product(kernel, wide, points, there(ws)), wanted)
    assert np.array_equal(fused.product(kernel, wide, there(np.asfortranarray(points)), there(a)), wanted)


def test_nothing_is_written_beyond_the_result(gpu, folder):
    kernel, shape = kernels.Gaussian(1.0), fused.Shape.of(3, 20, "float64")
    (m, n, c), (x, z, a) = (130, 1100, 20), case(130, 1100, 3, 20)
    grid, per_split = shape.launch(m, n, c)
    room = np.full(grid[1] * m * c + 1000, 7.0)
    function = cuda.compiled(np, shape.source(kernel.in_c("float64")), "kernel_product")
    sizes = [np.int64(size) for size in (m, n, 3, 3, c)]
    arguments = (x, np.zeros(m), z, a, room[500:-500], *sizes, np.int32(c), np.int64(per_split), np.float64(-0.5))
    function(grid, (fused.THREADS, 1, 1), arguments)
    assert np.all(room[:500] == 7.0)
    assert np.all(room[-500:] == 7.0)
    assert error(room[500:-500].reshape(grid[1], m, c).sum(axis=0), kernel, x, z, a) < 1e-13


@pytest.mark.parametrize(("m", "dtype"), [(1, "float32"), (257, "float64"), (10**6, "float32")])
def test_a_launch_covers_the_matrix_once(m, dtype):
    for n in (1, 1023, 2048, 10_000, 10**6):
        for c in (1, 4, 10, 32):
            shape = fused.Shape.of(18, c, dtype)
            (rows, splits, passes), per_split = shape.launch(m, n, c)
            edge = fused.THREADS * shape.rows
            assert (rows - 1) * edge < m <= rows * edge
            assert (splits - 1) * per_split < n <= splits * per_split
            assert (passes - 1) * shape.columns < c <= passes * shape.columns
            assert per_split % shape.tile == 0
            assert splits <= 65535 and passes <= 65535
            # Shared memory that a block may have without asking: 48 KiB.
            width = -(-shape.features // 4) * 4
            assert shape.tile * (width + shape.columns) * np.dtype(dtype).itemsize <= 49152


# -------------------------------------------------------------------------------------------- one pass


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("kernel", [*RADIAL, kernels.Matern(0.7, 0.2), kernels.Matern(3.0, 12.0)], ids=str)
def test_one_pass_over_a_block_gives_the_values(gpu, kernel, dtype):
    x, z = case(40, 30, 5, 1, dtype)[:2]
    room = there(np.full((50, 40), 5.0, dtype))
    with cuda.off():
        plain = kernels.values(kernel, kernels.augmented(x), kernels.augmented(z))
    made = kernels.values(kernel, there(kernels.augmented(x)), there(kernels.augmented(z)), room[:40, 5:35])
    assert [key[0][0] for key in cuda._functions] == ["values"]
    assert np.shares_memory(made, room)
    assert np.abs(made - plain).max() < 16 * EPS[dtype]
    room[:40, 5:35] = 5.0
    assert np.all(room == 5.0)


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_what_left_the_numbers_is_noticed_and_what_is_too_far_is_zero(gpu, kernel):
    sign = np.sign(kernel.factor)
    one_pass = kernel._in_one_pass(there(np.ones(1, np.float32)))
    values = one_pass(there(np.array([np.nan, sign * np.inf, sign * 1e30, -sign * 1e-3, 0.0], np.float32)), np.empty(5))
    assert np.isnan(values[0])
    assert np.all(values[1:3] < 1e-29)
    assert np.all(np.abs(values[3:] - 1.0) < 1e-6)


# ------------------------------------------------------------------------------------------- the choice


def test_the_product_is_chosen_for_few_features_of_a_radial_kernel(gpu, monkeypatch):
    def chosen(kernel=kernels.Laplace(1.0), d=18, c=2, dtype=np.float32, other=np.float32, where=there):  # noqa: B008
        return fused.is_applicable(kernel, where(np.ones((4, d + 2), dtype)), where(np.ones((4, c), other)))

    assert chosen()
    assert chosen(d=32, c=32)
    for wrong in ({"d": 33}, {"c": 33}, {"d": 0}, {"other": np.float64}, {"where": np.asarray}):
        assert not chosen(**wrong)
    for kernel in (kernels.LaplaceProduct(1.0), kernels.Polynomial(2, 1.0, 1.0), kernels.Gaussian(1e-25)):
        assert not chosen(kernel)
    with cuda.off():
        assert not chosen()
    assert chosen()
    monkeypatch.setenv(cuda.VARIABLE, "0")
    assert not chosen()


BROKEN = {
    "does not compile": lambda xp, source, name: 1 / 0,
    "does not run": lambda xp, source, name: lambda grid, block, arguments: 1 / 0,
    "gives other numbers": lambda xp, source, name: lambda grid, block, arguments: arguments[4].fill(0),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_function_that_fails_is_told_of_once_and_the_plain_path_taken(gpu, monkeypatch, broken):
    monkeypatch.setattr(cuda, "compiled", BROKEN[broken])
    x, z, a = case(30, 40, 3, 2)
    points = there(kernels.augmented(z))
    with pytest.warns(RuntimeWarning, match="CuPy's own operations take its place") as told:
        for kernel in (kernels.Gaussian(1.0), kernels.Laplace(1.0), kernels.Gaussian(2.0)):
            found = gram.cross_product(kernel, there(x), points, there(a), budget=10**6)
            assert error(found, kernel, x, z, a) < 1e-12
    assert len(told) == 1
    assert cuda.VARIABLE in str(told[0].message)


def test_values_that_fail_their_check_are_not_used(gpu, monkeypatch):
    monkeypatch.setattr(cuda, "elementwise", lambda *arguments: lambda scaled, value: np.ones_like(scaled))
    x, z, _ = case(30, 40, 3, 2)
    points = [there(kernels.augmented(part)) for part in (x, z)]
    with pytest.warns(RuntimeWarning, match="values of laplace are off"):
        made = kernels.values(kernels.Laplace(1.0), *points, there(np.empty((30, 40))))
    assert np.abs(made - formula(kernels.Laplace(1.0), x, z)).max() < 1e-12
