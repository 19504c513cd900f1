"""What the CPU gives, the GPU gives."""

import os

import numpy as np
import pytest

from engine_example import NEUTRAL, results, sample
from estimators_example import ALL, outputs, table
from forms import centers_regressor, eigenpro_classifier, eigenpro_regressor, kernel_sgd_classifier
from fused_example import RADIAL
from resumed_example import StopAt
from shallows import arrays, gram, kernels, spectrum, streams, training
from shallows.arrays import Device
from shallows.gpu import cuda
from shallows.gram import fused, rectangular

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not arrays.gpu_is_available(), reason="there is no GPU that CuPy can use"),
]

GPU = Device("gpu", 0)


@pytest.mark.parametrize("name", NEUTRAL)
def test_the_engine_gives_on_the_gpu_what_it_gives_on_the_cpu(name):
    for ours, theirs in zip(results(NEUTRAL[name], np), results(NEUTRAL[name], GPU.namespace), strict=True):
        assert ours.dtype == theirs.dtype
        # Sums in another order, as in tests/test_arrays.py, and other routines for the decompositions.
        np.testing.assert_allclose(theirs, ours, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("counter", [0, 7, 2**64 + 5])
def test_random_numbers_are_the_same_to_the_bit(counter):
    like = GPU.namespace.ones(1)
    for draw in (streams.integers, streams.permutation):
        assert np.array_equal(draw(3, "x", counter, 1001), arrays.to_numpy(draw(3, "x", counter, 1001, like=like)))
    for dtype in (np.dtype("float32"), np.dtype("float64")):
        ours = streams.uniform(3, "x", counter, (40, 25), dtype=dtype)
        assert np.array_equal(ours, arrays.to_numpy(streams.uniform(3, "x", counter, (40, 25), like=like, dtype=dtype)))


@pytest.mark.parametrize(
    "kernel",
    [
        *map(kernels.ArcCosine, range(3)),
        kernels.Matern(2.0, 0.8),
        kernels.CauchyProduct(2.0),
        kernels.Polynomial(3, 1.0, 0.1),
    ],
    ids=str,
)
def test_values_of_further_kernels_in_double_precision_agree(kernel):
    x, z = sample(300, 10), sample(200, 10, 1)
    ours = kernel(x, z)
    theirs = arrays.to_numpy(kernel(arrays.to_device(x, GPU), arrays.to_device(z, GPU)))
    assert np.abs(ours - theirs).max() < 1e-11 * np.abs(ours).max()
    if kernel.has_frequencies:
        like = arrays.to_device(x, GPU)
        draws = arrays.to_numpy(kernel.frequencies(3, "x", 1, 50, 10, like=like, dtype=like.dtype))
        assert draws == pytest.approx(kernel.frequencies(3, "x", 1, 50, 10), rel=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_one_pass_over_a_block_gives_the_values_of_many(kernel, dtype):
    x, z = (sample(n, 10, seed).astype(dtype) for n, seed in ((300, 0), (200, 1)))
    points, others = (kernels.augmented(arrays.to_device(part, GPU)) for part in (x, z))
    room = GPU.namespace.zeros((310, 220), dtype=points.dtype)
    for out in (None, room[:300, 10:210]):
        assert kernel._in_one_pass(points) is not None
        made = arrays.to_numpy(kernels.values(kernel, points, others, out))
        with cuda.off():
            plain = arrays.to_numpy(kernels.values(kernel, points, others))
        assert np.abs(made - plain).max() < 16 * np.finfo(dtype).eps
    assert float(room[:300, :10].max()) == float(room[:, 210:].max()) == float(room[300:, :].max()) == 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("d", "c"), [(1, 1), (3, 10), (18, 4), (32, 32)])
@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_a_product_of_few_features_is_that_of_the_formula(kernel, d, c, dtype):
    for m, n in ((1, 1), (257, 129), (70, 5000), (3000, 1100)):
        x, z, a = (part.astype(dtype) for part in (sample(m, d), sample(n, d, 1), sample(n, c, 2)))
        points, there = kernels.augmented(arrays.to_device(z, GPU)), arrays.to_device(a, GPU)
        assert fused.is_applicable(kernel, points, there)
        found = arrays.to_numpy(fused.product(kernel, arrays.to_device(x, GPU), points, there))
        values = kernel.apply_in_place(
            kernel.factor * ((x[:, None, :].astype(np.float64) - z[None, :, :].astype(np.float64)) ** 2).sum(axis=2)
        )
        # As in tests/test_fused.py, where the same text runs on the CPU.
        assert (np.abs(found - values @ a) / (values @ np.abs(a) + 1e-300)).max() < (d + 24) * np.finfo(dtype).eps


def test_every_product_of_few_features_is_that_of_the_plain_path():
    x, a = (arrays.to_device(sample(5000, d, seed), GPU) for d, seed in ((18, 0), (2, 1)))
    points, kernel = kernels.augmented(x), kernels.Laplace(3.0)

    def respond(values, rows):
        return 2.0 * values, float(values.sum())

    def products():
        matrix = gram.Gram(kernel, points, budget=12 * 1000**2 * 8, tile=1000)
        assert 0.0 < matrix.kept_fraction < 1.0
        rows, columns = matrix.rows_dot(slice(700, 3300), a, head=1500)
        there, total = rectangular.forward_and_back(kernel, points, points[:900, :], a[:900, :], respond, budget=10**8)
        extra = x[:, 0] ** 2
        crossed = gram.cross_product(kernel, x, points, a, budget=10**8, extra=extra)
        made = (matrix.dot(a), rows, columns.values(), there, crossed)
        return [*(arrays.to_numpy(part) for part in made), np.array(total)]

    with cuda.off():
        plain = products()
    for ours, theirs in zip(products(), plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("Estimator", [eigenpro_classifier, kernel_sgd_classifier, centers_regressor])
def test_a_fit_gives_the_model_of_the_plain_path_and_of_the_cpu(Estimator):
    X, y, new = table(Estimator, 3000)
    of_centers = Estimator is centers_regressor
    options = {"random_state": 0, "kernel": "laplace", "dtype": "float64", "batch_size": 100, "max_epochs": 3, "tol": 0}
    options |= {"centres": 500} if of_centers else {}
    # Too little for the matrix to be kept.
    memory = None if of_centers else "20MB"
    fitted = Estimator(device="gpu", memory=memory, **options).fit(X, y)
    with cuda.off():
        plain = Estimator(device="gpu", memory=memory, **options).fit(X, y)
    cpu = Estimator(device="cpu", **options).fit(X, y)
    for other in (plain, cpu):
        assert fitted.step_size_ == pytest.approx(other.step_size_, rel=1e-3)
        scale = np.abs(outputs(other, new)).max()
        assert np.abs(outputs(fitted, new) - outputs(other, new)).max() < 1e-2 * scale
        if not of_centers:
            assert fitted.report_["kept_fraction"] < 1.0
            assert np.abs(fitted.dual_coef_ - other.dual_coef_).max() < 1e-2 * np.abs(other.dual_coef_).max()


def test_products_are_in_single_precision_unless_tf32_was_asked_for():
    if int(os.environ.get("CUPY_TF32", "0")) or os.environ.get("NVIDIA_TF32_OVERRIDE", "0") not in ("", "0"):
        pytest.skip("TF32 was asked for")
    a, b = sample(512, 1024, dtype=np.float32), sample(1024, 512, 1, dtype=np.float32)
    found = arrays.to_numpy(arrays.to_device(a, GPU) @ arrays.to_device(b, GPU))
    # 1,024 terms of unit variance: some 1e-5 in float32, and 2e-2 with the 10 bits of TF32.
    assert np.abs(found - a.astype(np.float64) @ b.astype(np.float64)).max() < 1e-3


def test_a_preconditioner_is_the_same_and_moves_between_devices():
    X = sample(600)
    ours, theirs = (
        spectrum.fit_preconditioner(X, "laplace", 2.0, rank=20, n_subsample=100, device=device, dtype="float64")
        for device in ("cpu", "gpu")
    )
    assert np.array_equal(ours.indices, theirs.indices)
    assert arrays.to_numpy(theirs.eigenvalues) == pytest.approx(ours.eigenvalues, rel=1e-9)
    assert theirs.step_size(50) == pytest.approx(ours.step_size(50), rel=1e-3)
    moved = ours.to(GPU, np.float64)
    assert arrays.device_of(moved.vectors) == GPU
    assert np.array_equal(arrays.to_numpy(moved.vectors), ours.vectors)


@pytest.mark.parametrize("Estimator", ALL)
def test_a_model_of_the_gpu_predicts_on_the_cpu(Estimator):
    X, y, new = table(Estimator, 300)
    model = Estimator(random_state=0, device="gpu", dtype="float64", max_epochs=2).fit(X, y)
    there = outputs(model, new)
    assert isinstance(there, np.ndarray)
    assert np.abs(outputs(model.set_params(device="cpu"), new) - there).max() < 1e-9 * np.abs(model.dual_coef_).sum()


def test_a_run_that_is_stopped_goes_on_to_the_same_model(tmp_path):
    X, y, _ = table(eigenpro_regressor, 400)
    options = {"random_state": 0, "device": "gpu", "batch_size": 50, "max_epochs": 3, "tol": 0}
    checkpoint = training.Checkpoint(tmp_path, "k")
    with pytest.raises(training.TrainingInterrupted):
        eigenpro_regressor(**options).fit(X, y, checkpoint=checkpoint, observers=[StopAt(checkpoint, 11)])
    resumed = eigenpro_regressor(**options).fit(X, y, checkpoint=training.Checkpoint(tmp_path, "k"))
    whole = eigenpro_regressor(**options).fit(X, y)
    assert np.abs(resumed.dual_coef_ - whole.dual_coef_).max() < 1e-9 * np.abs(whole.dual_coef_).max()
