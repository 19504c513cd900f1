"""EigenPro on explicit features, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import features as feature_maps
from ...fitting.feature_eigenpro import fit_feature_eigenpro
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel, precomputed
from ...ranks import Alone
from ...solvers.least_squares.feature_eigenpro import FeatureEigenPro
from ...solvers.least_squares.step_rules import StepRule
from ...solvers.settings import settings_of
from ...training import Observer
from ...utils.checks import check_whole
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import LeastSquaresEstimator, SquareLossLabels


class FeatureEigenProMachine(LeastSquaresEstimator):
    """Base of the classifier and the regressor: parameters and fit of EigenPro on features."""

    @stores_parameters
    def __init__(
        self,
        features: str | Any = "fourier",
        *,
        n_features: int | None = None,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        eigensystem: str = "nsvd",
        damping: float = 0.25,
        power: str | float = "full",
        batch_size: int | None = None,
        step_size: float | None = None,
        step_rule: str | Mapping[str, Any] | StepRule = "certified",
        max_epochs: int = 40,
        max_seconds: float | None = None,
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
        """Set the parameters.

        Parameters
        ----------
        features : str or object, default="fourier"
            "fourier", "fourier_cosine", "orthogonal", "rbf", "nystrom", "linear" or another key of
            `shallows.features.FEATURE_MAPS`; or an object with ``n_features`` and ``map(x)``, shape (m, n_features).
        n_features : int, optional
            Number of features. None: 40 √n random frequencies, from 4,000 to 10,000; 4,000 for other maps.
        kernel : str, Kernel or callable, default="gaussian"
            Kernel of a named map, see `shallows.kernels`. Fourier features need a shift-invariant kernel.
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
            q, the most directions that the preconditioner flattens; 0 flattens none. None: a fifth of the subsample, or
            fewer (see the documentation on defaults).
        n_subsample : int, optional
            M, the training points from which the eigensystem is computed. None: about 9√n, from 500 to 12,000, and at
            least twice the rank; all of up to 1,000 points.
        eigensystem : {"nsvd", "rsvd"}, default="nsvd"
            By the M × M matrix of inner products, or by a randomized decomposition of the features of the subsample.
        damping : float, default=0.25
            τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``. The paper has τ = ¼ and a =
            ½.
        power : {"full", "sqrt"} or float in (0, 1], default="full"
            a, 1 for "full" (eigenvalues of the operator) and ½ for "sqrt" (singular values of the features, as
            printed).
        batch_size : int, optional
            m, the rows of a step. None: half of the critical batch size β/μ, or all rows of up to 1,000.
        step_size : float, optional
            η, for a sum over the batch. None: by the step rule, and half of it in epochs in which training diverges.
        step_rule : str, mapping or callable, default="certified"
            Rule for the step without ``step_size``; names as for `EigenProClassifier`.
        max_epochs : int, default=40
            Most passes over the training data.
        max_seconds : float, optional
            Time limit of the fit. If the preparation takes longer, training stops as soon as there is a model.
        tol : float, default=5e-3
            Stop after an epoch whose training loss is at most this share of the loss of the zero function. With λ > 0
            and more than 10,000 rows, also stop when two epochs in a row lower the loss by less than twice this share.
        early_stopping : bool, default=False
            Hold out validation rows; stop when their score stops improving, and keep the model of the best epoch.
        validation_fraction : float, default=0.1
            Share of the training rows that early stopping holds out.
        n_iter_no_change : int, default=3
            Epochs without a better validation score after which early stopping stops.
        warm_start : bool, default=False
            Continue the previous fit if nothing but ``max_epochs`` or ``tol`` has changed. Otherwise start again.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            "auto" uses a GPU if CuPy finds one.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision. "auto": float32, or float64 for up to 1,000 points.
        verbose : int, default=0
            1 shows a progress bar.
        """

    def _train(self, rows: TrainingSet, observers: Sequence[Observer], checkpoint: Any, ranks: Alone) -> FittedFunction:
        return fit_feature_eigenpro(
            rows,
            of_classes=not self._y_is_numeric,
            feature_map=self.features,
            n_features=self.n_features,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            regularisation=self.regularisation,
            calibrates=self.calibration is not None,
            solver=settings_of(FeatureEigenPro, self),
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self.get_params() if self.warm_start else None, vars(self).get("_ended")),
            seed=self._seed(),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )

    def _check_parameters(self) -> None:
        precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")
        super()._check_parameters()
        check_whole(self, "n_features", optional=True)
        settings_of(FeatureEigenPro, self).check()
        feature_maps.check(self.features)


class FeatureEigenProClassifier(SquareLossLabels, FeatureEigenProMachine):
    """Classification by EigenPro on explicit features: a linear model f(x) = φ(x)ᵀA of least squares on ±1 targets.

    Features are computed when they are needed, and kept if they fit into the memory. The top of their spectrum is
    flattened as in `EigenProClassifier`; ``rank=0`` is stochastic gradient descent on the features.

    Maps: "fourier" (cosines and sines of random frequencies, an even number), "fourier_cosine", "orthogonal"
    (orthogonal frequencies), "rbf" and "rbf_kmeans" (kernel functions at data points or K-means centers), "nystrom" and
    "nystrom_kmeans" (the same, whitened), "linear" (the inputs and a constant). An object receives inputs that are not
    centered. For a transformer, use a pipeline with a linear model or `FeatureRidgeClassifier`.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features)
        A, transposed.
    bandwidth_ : float
        Of named maps.
    step_size_ : float
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
    NIPS 30, Table 1 and section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import FeatureEigenProClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = FeatureEigenProClassifier(n_features=2000, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(FeatureEigenProMachine.__init__, class_weight=None)


class FeatureEigenProRegressor(ValuePredictions, FeatureEigenProMachine):
    """Regression by EigenPro on explicit features: a linear model of least squares; see `FeatureEigenProClassifier`.

    The attributes are those of `FeatureEigenProClassifier`, with ``intercept_`` instead of ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    """
