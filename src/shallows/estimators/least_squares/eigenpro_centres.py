"""EigenPro for models with fewer centres than data, for classes and for values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import arrays, kernels, projection, spectrum, streams
from ...arrays import Array
from ...errors import ShallowsError
from ...kernels import Kernel
from ...solvers.least_squares.projected import CentresProblem, ProjectedEigenPro, certificate, step_size
from .. import precomputed
from ..base import SMALL
from ..centring import Centring, TrainingRows
from ..constructors import with_parameters
from ..kernel_checks import check_scale
from . import given_centres
from .centres_matrix import CentresMatrix
from .kernel_least_squares import Plan
from .least_squares_targets import LeastSquaresClassifier, LeastSquaresRegressor
from .preconditioning import SMALL_FLOOR, check_preconditioning

N_FRESH = 3000
"""Points beside the centres on which λ and β are measured, from which the step follows."""

STRIP_BYTES = 2**26
"""Bytes that strips of the kernel matrix may take; more is no faster."""


class _EigenProCentres:
    """Parameters, plan and solver of EigenPro on centres, for classes and for values."""

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        centres: int | Any = 2000,
        bandwidth: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        rank: int | None = None,
        n_subsample: int | None = None,
        batch_size: int | None = None,
        step_size: float | None = None,
        damping: float = 1.0,
        max_epochs: int = 10,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.centres = centres
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.rank = rank
        self.n_subsample = n_subsample
        self.batch_size = batch_size
        self.step_size = step_size
        self.damping = damping
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_preconditioning(self)
        given_centres.check(self.centres)
        if not isinstance(self.centres, numbers.Integral):
            precomputed.refuse(self, "Centres that are given are points; with a matrix, centres is a number.")

    # ------------------------------------------------------------------------------- points and centres

    def _prepare_points(self, X: Any, order: np.ndarray, device: arrays.Device, dtype: np.dtype) -> Array:
        """Return the centres and, after them, points for measuring the step; all others are read batch by batch."""
        n, d = X.shape
        given = None if isinstance(self.centres, numbers.Integral) else given_centres.as_points(self.centres, d)
        self._p = min(int(self.centres), n) if given is None else len(given)
        budget, n_fresh = self._working_budget(device), min(n, N_FRESH)
        # The factor, the centres and the certificate's matrices, of fresh points with the centres and each other.
        half = d + 1.5 * n_fresh
        needed = dtype.itemsize * (self._p * (self._p + 2 * half) + 2 * n_fresh**2)
        if needed > budget:
            fitting = int(math.sqrt(half**2 + max(0, budget / dtype.itemsize - 2 * n_fresh**2)) - half)
            raise self._too_many_centres(needed, fitting, budget, device)
        kind = kernels.kind(self.kernel)
        kind.check_inputs(d)
        self._centring = Centring.of(
            X, centred=kind.shift_invariant, without_constants=kind.of_distance and given is None
        )
        # Half of what is left may hold the points; else they are read anew in every epoch.
        held = (budget - needed) // 2 > n * (d + 2) * dtype.itemsize
        self._rows = TrainingRows(X, order, self._centring, device, dtype, held=held)
        first = 0 if given is not None else self._p
        fresh = slice(first, min(n, first + N_FRESH))
        if fresh.stop - fresh.start < max(1, min(n, N_FRESH) // 2):
            fresh = slice(0, min(n, N_FRESH + first))
        self._fresh = fresh
        fresh = self._rows(fresh)
        if given is None:
            centres = self._rows(slice(0, self._p))
        else:
            here = streams.permutation(0, "given centres", 0, self._p)
            centres = self._centring.training_points(given, here, device, dtype)
        check_scale(centres, dtype, may_vanish=not kind.shift_invariant)
        return arrays.namespace(centres).concat([centres, fresh])

    def _too_many_centres(self, needed: float, fitting: int, budget: int, device: arrays.Device) -> ShallowsError:
        """The error that says how many centres fit into the memory, if any do, and how much memory these need."""
        # A budget for the process counts what it holds already (`Estimator._working_budget`), which grows a little.
        beside = arrays.resident_memory() + 2**26 if device.kind == "cpu" else 0
        enough = f'memory="{math.ceil(1.1 * (needed + beside) / 1e6)}MB"'
        fewer_help = fitting >= 1 and isinstance(self.centres, numbers.Integral)
        return ShallowsError(
            f"{self._p:,} centres take {needed / 1e9:.2g} GB (their kernel matrix is factored, and the step is "
            f"measured on other points), and the budget leaves {budget / 1e9:.2g} GB. "
            f"Use {f'centres={fitting} at most, or ' if fewer_help else ''}{enough}."
        )

    # -------------------------------------------------------------------------------------------- plan

    def _make_plan(self, points: Array, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        xp = arrays.namespace(points)
        n, p = len(self._rows), self._p
        centres, fresh = points[:p, :], points[p:, :]
        n_subsample = min(p, self.n_subsample or max(6000, 2 * (self.rank or 0)))
        smallest = smallest_share = 0.0
        rank = self.rank
        if rank is None:
            # As in `EigenProClassifier`: in a small problem every batch holds all rows, and in a large one directions
            # below 1/n are not preconditioned.
            rank = n_subsample if n <= SMALL else n_subsample // 4
            smallest, smallest_share = (0.0, SMALL_FLOOR) if n <= SMALL else (1.0 / n, 0.0)
        rank = min(rank, n_subsample - 1)
        of_subsample = of_fresh = None
        if weights is not None:
            sampled = isinstance(self.centres, numbers.Integral)
            of_subsample = weights[:n_subsample] if sampled else xp.ones_like(centres[:n_subsample, 0]) * weights.mean()
            of_fresh = weights[self._fresh]
        made = spectrum.make_preconditioner(
            kernel,
            xp.concat([centres[:n_subsample, :], fresh]),
            rank=rank,
            n_subsample=n_subsample,
            seed=seed,
            damping=self.damping,
            weights=None if weights is None else xp.concat([of_subsample, of_fresh]),
            smallest=smallest,
            smallest_share=smallest_share,
        )
        self._projection = projection.make_projection(kernel, centres)
        found = certificate(kernel, centres, self._projection, made, fresh, of_fresh, seed)
        batch_size = self.batch_size
        if batch_size is None:
            # A batch of up to half of the critical size costs no progress. Twice p keeps the solve with p² numbers near
            # a tenth of the time of a step; with 4p/3 it was a sixth, and the loss after some epochs about the same.
            batch_size = n if n <= SMALL else max(16, 2 * p, int(found.critical_batch_size / 2))
        batch_size = min(n, batch_size)
        return Plan(
            kernel,
            made,
            batch_size,
            self.step_size or step_size(found, batch_size),
            found.eigenvalue(batch_size),
            found.largest_diagonal,
        )

    def _make_problem(self, plan: Plan, points: Array, targets: Array, weights: Any, budget: int) -> CentresProblem:
        centres = arrays.contiguous(points[: self._p, :])
        strips = min(STRIP_BYTES if arrays.device_of(points).kind == "cpu" else 2**32, max(2**20, budget))
        self._gram = CentresMatrix(plan.kernel, centres, self._rows, strips)
        made = CentresProblem(
            plan.kernel, centres, self._rows, targets, self._projection, plan.preconditioner, weights, strips
        )
        self._averaged = plan.batch_size < len(self._rows)
        del self._projection, self._rows, self._fresh
        return made

    def _step_bytes(self, plan: Plan, n_outputs: int, itemsize: int) -> int:
        p, made = self._p, plan.preconditioner
        of_points = self._rows.held_bytes or plan.batch_size * (self._rows.width + 2) * itemsize
        return of_points + itemsize * (p * p + made.n_subsample * made.rank + 8 * p * n_outputs)

    def _make_solver(self, step_size: float) -> ProjectedEigenPro:
        return ProjectedEigenPro(step_size, average=self._averaged)

    def _store_model(self, state: Any, plan: Plan, points: Array, rows: np.ndarray) -> None:
        super()._store_model(state, plan, points[: self._p, :], rows[: self._p])
        if not isinstance(self.centres, numbers.Integral):
            self.support_ = None

    def _model_parameters(self, plan: Plan) -> dict[str, Any]:
        return super()._model_parameters(plan) | {"n_centres": self._p}


class EigenProCentresClassifier(_EigenProCentres, LeastSquaresClassifier):
    """Kernel classification by EigenPro with fewer centres than data: least squares on ±1 targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in batches; the gradient, preconditioned
    as in `EigenProClassifier`, is projected onto the span of the centres, and the iterates are averaged. Memory holds
    p² numbers.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    centres : int or array of shape (p, n_features), default=2000
        How many training points, drawn at random, are the centres, or the centres themselves.
    bandwidth : float, optional
        σ, in the units of the features, of the kernels that have one. None takes the median distance between points
        of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a quarter of the subsample.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or all if there are
        fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/λ in the span of the centres, and at least 2p, so that the
        projection's share of the time stays small; all rows of up to 1,000.
    step_size : float, optional
        η, for a sum over the batch. None takes 2/(β + (m − 1)λ) and at most 1/(mλ), with λ and β measured in the
        span of the centres on training points that are no centres; an epoch in which training diverges is then
        repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=10
        The most passes over the training data.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The data are kept in the precision of the fit if they fit, else read anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_, step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step and on the iterate. The average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import EigenProCentresClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EigenProCentresClassifier(centres=300, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> model.dual_coef_.shape, bool(model.score(X[1200:], y[1200:]) > 0.93)
    ((300, 10), True)
    """

    __init__ = with_parameters(_EigenProCentres.__init__, class_weight=None)


class EigenProCentresRegressor(_EigenProCentres, LeastSquaresRegressor):
    """Kernel regression by EigenPro with fewer centres than data: least squares about the mean of the targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in batches; the gradient, preconditioned
    as in `EigenProClassifier`, is projected onto the span of the centres, and the iterates are averaged. Memory holds
    p² numbers.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    centres : int or array of shape (p, n_features), default=2000
        How many training points, drawn at random, are the centres, or the centres themselves.
    bandwidth : float, optional
        σ, in the units of the features, of the kernels that have one. None takes the median distance between points
        of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a quarter of the subsample.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or all if there are
        fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/λ in the span of the centres, and at least 2p, so that the
        projection's share of the time stays small; all rows of up to 1,000.
    step_size : float, optional
        η, for a sum over the batch. None takes 2/(β + (m − 1)λ) and at most 1/(mλ), with λ and β measured in the
        span of the centres on training points that are no centres; an epoch in which training diverges is then
        repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=10
        The most passes over the training data.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The data are kept in the precision of the fit if they fit, else read anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_, step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step and on the iterate. The average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.
    """
