"""Fits that run in several threads of a process at once."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bad_input_example import table
from estimators_example import outputs
from forms import centers_regressor, eigenpro_classifier
from shallows import (
    DoublyStochasticRegressor,
    FeatureRidgeClassifier,
    KernelRidgeClassifier,
    KernelSVMClassifier,
    RegularizedRiskClassifier,
    arrays,
    kernels,
)
from shallows.arrays import threads
from shallows.decomposition import DoublyStochasticKernelPCA, DoublyStochasticKernelSVD, FeatureKernelPCA
from shallows.features.landmarks import kmeans_centers
from shallows.kernel_approximation import FourierFeatures
from shallows.solvers import DoublyStochastic, Oja, TwoViewSVD
from shallows.solvers.components.kernel_svd import TwoViewSVDStepper
from shallows.solvers.components.oja import OjaStepper
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper
from shallows.solvers.feature_components.problem import FeaturePCAState
from shallows.solvers.least_squares import normal_equations
from shallows.solvers.regularized.sdca import SDCAStepper
from shallows.svm import CoreVectorMachineClassifier

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def set_blas_threads(number):
    """In a thread that ends, since threadpoolctl lets no other thread change what a living one has set."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(threadpool_limits, limits=number, user_api="blas").result()


@contextlib.contextmanager
def two_blas_threads():
    before = max(blas_threads())
    set_blas_threads(2)
    try:
        yield
    finally:
        set_blas_threads(before)


@pytest.mark.parametrize(
    ("Estimator", "options"),
    [
        (eigenpro_classifier, {"max_epochs": 2}),
        (centers_regressor, {"max_epochs": 2, "centres": 40}),
        (DoublyStochasticRegressor, {"solver": DoublyStochastic(n_iter=5)}),
    ],
)
def test_fits_in_eight_threads_are_equal_and_leave_the_threads_of_blas_as_they_were(Estimator, options):
    X, y, new = table(Estimator, n=100)
    together = threading.Barrier(8, timeout=60)

    def fit(_):
        together.wait()
        return outputs(Estimator(random_state=0, **options).fit(X, y), new)

    with two_blas_threads(), ThreadPoolExecutor(8) as pool:
        alone = outputs(Estimator(random_state=0, **options).fit(X, y), new)
        for made in pool.map(fit, range(16)):
            # A product on one thread of BLAS may be summed in another order than one on two.
            np.testing.assert_allclose(made, alone, rtol=1e-6, atol=1e-9)
        assert blas_threads() == {2}


@pytest.mark.parametrize(
    ("make", "watched", "of_large_steps"),
    [
        (lambda: KernelSVMClassifier(solver="smo", random_state=0), (kernels, "values"), {1, 2}),
        (lambda: KernelSVMClassifier(solver="lasvm", random_state=0), (kernels, "values"), {1}),
        (lambda: CoreVectorMachineClassifier(random_state=0), (kernels, "values"), {1, 2}),
        (lambda: DoublyStochasticRegressor(solver=DoublyStochastic(n_iter=5)), (DoublyStochasticStepper, "step"), {2}),
        (lambda: DoublyStochasticKernelPCA(solver=Oja(n_iter=5)), (OjaStepper, "step"), {2}),
        (lambda: DoublyStochasticKernelSVD(solver=TwoViewSVD(n_iter=5)), (TwoViewSVDStepper, "step"), {2}),
        (lambda: FeatureKernelPCA(features=FourierFeatures(n_features=200)), (FeaturePCAState, "take"), {2}),
        (lambda: RegularizedRiskClassifier(random_state=0), (SDCAStepper, "step"), {2}),
        (lambda: RegularizedRiskClassifier(features="fourier", random_state=0), (SDCAStepper, "step"), {2}),
        (lambda: KernelRidgeClassifier(centers=50, random_state=0), (arrays, "triangular_gram"), {2}),
        (lambda: FeatureRidgeClassifier(random_state=0), (normal_equations, "solve_by_rows"), {1}),
    ],
    ids=[
        *["kernel SVM", "LASVM", "core vectors", "expansion", "components", "pairs", "components of features"],
        *["dual ascent", "dual ascent on features", "centers", "ridge on features"],
    ],
)
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_products_of_a_solver_run_on_one_thread_of_blas_up_to_a_size(make, watched, of_large_steps, large, monkeypatch):
    """On a busy machine, threads that waited for each other made these fits 2 to 12 times as long.

    LASVM computes one row of its matrix at a time, which is small with any number of rows. Ridge regression on
    features has a size of its own.
    """
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    seen, called = [], getattr(*watched)
    if large:
        monkeypatch.setattr(threads, "SMALL_STEP", 4)

    def watching(*given, **options):
        seen.append(blas_threads())
        return called(*given, **options)

    monkeypatch.setattr(*watched, watching)
    with two_blas_threads():
        make().fit(X, X[:, ::-1] if watched[0] is TwoViewSVDStepper else y)
        assert seen and set().union(*seen) == (of_large_steps if large else {1})
        assert blas_threads() == {2}


@pytest.mark.parametrize(("n_numbers", "expected"), [(2**20, 1), (2**20 + 1, 2)])
def test_steps_with_large_batches_keep_the_threads_of_blas(n_numbers, expected):
    with two_blas_threads(), arrays.threads_for(n_numbers):
        assert blas_threads() == {expected}


def test_a_process_with_one_core_has_one_thread_of_its_own_and_the_same_model(monkeypatch):
    X, y, new = table(eigenpro_classifier, n=100)
    found = []
    for cores in ({0, 1}, {0}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, cores=cores: cores, raising=False)
        with two_blas_threads():
            assert arrays.n_threads() == len(cores)
            found.append(outputs(eigenpro_classifier(max_epochs=2, random_state=0).fit(X, y), new))
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)


def test_k_means_in_several_threads_leaves_the_threads_of_blas_as_they_were():
    X = np.random.default_rng(0).normal(size=(3000, 5))
    with two_blas_threads(), ThreadPoolExecutor(8) as pool:
        for centers in pool.map(lambda _: kmeans_centers(X, 20, 0), range(24)):
            np.testing.assert_allclose(centers, kmeans_centers(X, 20, 0))
        assert blas_threads() == {2}


IN_A_FORK = """
import os, sys
import numpy as np
from shallows.features.landmarks import kmeans_centers
X = np.random.default_rng(0).normal(size=(3000, 5))
centers = kmeans_centers(X, 20, 0)
child = os.fork()
if child == 0:
    os._exit(0 if np.allclose(kmeans_centers(X, 20, 0), centers) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_landmarks_of_k_means_are_found_in_a_fork_of_a_process_that_has_used_two_threads_of_openmp():
    process = subprocess.Popen(
        [sys.executable, "-c", IN_A_FORK], env={**os.environ, "OMP_NUM_THREADS": "2"}, start_new_session=True
    )
    try:
        assert process.wait(60) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
