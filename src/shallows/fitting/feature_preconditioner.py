"""EigenPro's preconditioner of features, computed in advance for the fits that share it."""

from dataclasses import replace
from typing import Any

from .. import arrays, kernels, streams
from ..features import in_blocks
from ..kernels import Kernel
from ..models.centering import place_points
from ..solvers.least_squares.feature_eigenpro import FeatureEigenPro
from ..solvers.least_squares.kernel_problem import KernelFit
from ..spectrum import FeaturePreconditioner
from ..utils.plain_numbers import takes_numpy_integers
from .machine import Options


@takes_numpy_integers
def fit_feature_preconditioner(
    X: Any,
    features: str = "fourier",
    kernel: str | Kernel = "gaussian",
    bandwidth: float | str | None = "median",
    *,
    n_features: int,
    rank: int | None = None,
    n_subsample: int | None = None,
    eigensystem: str = "nsvd",
    damping: float = 0.25,
    power: float = 1.0,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
    dtype: str = "auto",
) -> FeaturePreconditioner:
    """The preconditioner that `FeatureEigenPro` computes from the same parameters for α = 0, bit for bit.

    This holds for a fit without calibration whose bandwidth is a number or "median".

    Parameters
    ----------
    X : array, shape (n, d)
        Training points.
    features : str
        The name of a map with a kernel, such as "fourier".
    kernel : str or Kernel
    bandwidth : float or "median"
    n_features : int
        D.
    rank, n_subsample, eigensystem, damping, power
        As in `FeatureEigenPro`.
    random_state : int
        Seed of the order of the rows, of the features and of the eigensystem.
    device, memory, dtype
        As in `Options`.
    """
    options, n = Options(device=device, memory=memory, dtype=dtype), X.shape[0]
    solver = FeatureEigenPro(rank=rank, n_subsample=n_subsample, eigensystem=eigensystem, damping=damping, power=power)
    solver.check()
    order, on = streams.permutation(random_state, "order", 0, n), options.fit_device()
    kernel = kernels.make(kernel, bandwidth)
    with on.active():
        centering, points = place_points(X, order, kernel, on, options.precision(n), features, centered=True)
        with arrays.one_blas_thread():
            kernel = kernels.choose(kernel, points, random_state, all_equal=centering.all_equal)
        room = options.budget(on) - points.nbytes
        blocks = in_blocks(features, kernel, points[:, :-2], n_features, random_state, room)
        fit = KernelFit(kernel, points, None, random_state, 0.0, None, centering.all_equal, 1, room)
        plan = solver.plan(blocks, fit)
    return replace(plan.preconditioner, kernel=kernel)
