"""The preconditioner of EigenPro's first release, computed in advance for the fits that share it."""

from dataclasses import replace
from typing import Any

from .. import arrays, kernels, spectrum, streams
from ..kernels import Kernel
from ..models.centering import place_points
from ..spectrum import Preconditioner
from ..utils.plain_numbers import takes_numpy_integers
from .machine import Options


@takes_numpy_integers
def fit_rsvd_preconditioner(
    X: Any,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | str | None = "median",
    *,
    rank: int = 160,
    n_subsample: int = 4800,
    damping: float = 1.0,
    power: float = 0.5,
    random_state: int = 0,
    device: str = "auto",
    dtype: str = "auto",
) -> Preconditioner:
    """The preconditioner that ``EigenPro(eigensystem="rsvd")`` computes from the same parameters, bit for bit.

    This holds for a fit without calibration whose α and bandwidth are numbers or "median". Otherwise the order of its
    rows depends on the labels.

    Parameters
    ----------
    X : array, shape (n, d)
        Training points.
    kernel : str or Kernel
    bandwidth : float or "median"
    rank, n_subsample, damping, power
        q, M, τ and a, see `make_rsvd_preconditioner`.
    random_state : int
        Seed of the order of the rows and of the sketch.
    device, dtype
        As in `Options`.
    """
    options, n, kernel = Options(device=device, dtype=dtype), X.shape[0], kernels.make(kernel, bandwidth)
    order, on = streams.permutation(random_state, "order", 0, n), options.fit_device()
    with on.active():
        centering, points = place_points(X, order, kernel, on, options.precision(n))
        with arrays.one_blas_thread():
            kernel = kernels.choose(kernel, points, random_state, all_equal=centering.all_equal)
        m = min(n_subsample, n)
        sizes = {"rank": min(rank, m - 1), "n_rows": m, "damping": damping, "power": float(power)}
        made = spectrum.make_rsvd_preconditioner(kernel, points, seed=random_state, **sizes)
    return replace(made, indices=order[made.indices])
