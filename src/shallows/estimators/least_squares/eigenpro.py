"""EigenPro in the space of a kernel, for classes and for values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ShallowsError
from ...fitting.kernel_ridge import fit_kernel_ridge
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel, precomputed
from ...ranks import Alone
from ...solvers.least_squares.eigenpro import EigenPro
from ...solvers.least_squares.step_rules import StepRule
from ...solvers.settings import settings_of
from ...spectrum import Preconditioner
from ...training import Observer
from ...utils.checks import is_whole
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import LeastSquaresEstimator, SquareLossLabels


class EigenProMachine(LeastSquaresEstimator):
    """Base of the classifier and the regressor: parameters and fit of EigenPro."""

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        eigensystem: str = "subsample",
        batch_size: int | None = None,
        shuffle: bool = False,
        step_size: float | None = None,
        step_rule: str | Mapping[str, Any] | StepRule = "certified",
        damping: float = 1.0,
        power: str | float = "full",
        max_epochs: int = 20,
        max_seconds: float | None = None,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        preconditioner: Preconditioner | str | os.PathLike | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        precision: str = "full",
        verbose: int = 0,
    ):
        """Set the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or "precomputed" (X is the kernel matrix).
        bandwidth : float, "auto", "median" or None, default="auto"
            σ, in the units of X. "auto": by leave-one-out errors of kernel ridge. "median", None: median distance.
        kernel_params : dict, optional
            Parameters of a named kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
        n_components : int, "auto" or None, default="auto"
            Principal components that replace the inputs. "auto": 200, 100 or 50 if as good. None: no components.
        regularisation : float or "auto", default="auto"
            λ: minimized is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto": by leave-one-out errors. 0: only stopping regularizes.
        calibration : {"auto", None}, default="auto"
            "auto" learns probabilities from outputs at left-out rows. None: outputs as they are. Regressors ignore it.
        rank : int, optional
            q, the most eigendirections that the preconditioner flattens. None: a fifth of the subsample, or fewer (see
            the documentation on defaults).
        n_subsample : int, optional
            M, the training points from which the eigensystem is computed. None: about 9√n, from 500 to 12,000, and at
            least twice the rank; all of up to 1,000 points.
        eigensystem : {"subsample", "rsvd"}, default="subsample"
            "subsample": eigenvectors of the M × M matrix, with a certified step. "rsvd": of length n, as the authors
            released; needs ``step_size`` or ``step_rule="release2017"``, and no sample weights.
        batch_size : int, optional
            m, the rows of a step. None: half of the critical batch size β/μ, or all rows of up to 1,000. With at most
            16 large batches, the steps are conjugate residuals (see the documentation on defaults).
        shuffle : bool, default=False
            True draws new batches in every epoch, as the authors' release does. False keeps the batches: faster.
        step_size : float, optional
            η, for a sum over the batch. None: by the step rule, and half of it in epochs in which training diverges.
        step_rule : str, mapping or callable, default="certified"
            Rule for the step without ``step_size``: "certified", "theorem", "paper", "release2017", "release2019" or
            "exact" (`shallows.solvers.least_squares.step_rules`).
        damping : float, default=1.0
            τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``.
        power : {"full", "sqrt"} or float in (0, 1], default="full"
            a, 1 for "full" and ½ for "sqrt", as in the authors' first release: less flattening, for noisy eigensystems.
        max_epochs : int, default=20
            Most passes over the training data.
        max_seconds : float, optional
            Time limit of the fit. If the preparation takes longer, training stops as soon as there is a model.
        tol : float, default=5e-3
            Stop after an epoch whose training loss is at most this share of the loss of the zero function.
        early_stopping : bool, default=False
            Hold out validation rows; stop when their score stops improving, and keep the model of the best epoch.
        validation_fraction : float, default=0.1
            Share of the training rows that early stopping holds out.
        n_iter_no_change : int, default=3
            Epochs without a better validation score after which early stopping stops.
        warm_start : bool, default=False
            Continue the previous fit if nothing but ``max_epochs`` or ``tol`` has changed. Otherwise start again.
        preconditioner : Preconditioner or path, optional
            A result of `shallows.spectrum.fit_preconditioner` on the same training rows, or its file.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            "auto" uses a GPU if CuPy finds one.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision. "auto": float32, or float64 for up to 1,000 points.
        precision : {"full", "split"}, default="full"
            Products for float32 kernel values on a GPU. "split" uses tensor cores: 40 % of the time, with errors up to
            2e-5 of the largest squared distance.
        verbose : int, default=0
            1 shows a progress bar.
        """

    def _train(self, rows: TrainingSet, observers: Sequence[Observer], checkpoint: Any, ranks: Alone) -> FittedFunction:
        return fit_kernel_ridge(
            rows,
            of_classes=not self._y_is_numeric,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            regularisation=self.regularisation,
            calibrates=self.calibration is not None,
            solver=ranks.divide(settings_of(EigenPro, self)),
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self.get_params() if self.warm_start else None, vars(self).get("_ended")),
            seed=ranks.from_first(self._seed()),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        settings_of(EigenPro, self).check()
        if self.preconditioner is not None:
            if is_whole(self.n_components):
                raise ShallowsError("A given preconditioner was made for the inputs. Set n_components=None.")
            precomputed.refuse(self, "A given preconditioner was made for points and a kernel.")
        if self.early_stopping and self.preconditioner is not None:
            raise ShallowsError(
                "A given preconditioner was made for all training rows, and early_stopping=True holds some of them "
                "out. Use only one of the two."
            )


class EigenProClassifier(SquareLossLabels, EigenProMachine):
    """Kernel classification by EigenPro: least squares on ±1 targets, with the top of the spectrum flattened.

    A preconditioner makes the leading eigenvalues of the kernel operator equal, so that stochastic gradients can take
    much larger steps. The model is a sum of kernels at all training points.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
        Numbers of the training rows, without the rows that were held out.
    bandwidth_, step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; a batch is measured before its own step.
    validation_scores_ : list of float
        With ``early_stopping``: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        Values that the library chose, with kernel, seed, precision and device; see the documentation on defaults.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30. The update in the span of the subsample is that of S. Ma and M. Belkin (2019), "Kernel machines that adapt
    to GPUs for effective large batch training", MLSys.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import EigenProClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EigenProClassifier(bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(EigenProMachine.__init__, class_weight=None)


class EigenProRegressor(ValuePredictions, EigenProMachine):
    """Kernel regression by EigenPro: least squares around the mean of the targets; see `EigenProClassifier`.

    The attributes are those of `EigenProClassifier`, with ``intercept_`` instead of ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    """
