"""EigenPro on explicit features, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import features as feature_maps
from ... import training
from ...fitting.checks import check_whole
from ...fitting.feature_eigenpro import fit_feature_eigenpro
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel, precomputed
from ...ranks import Alone
from ...solvers.least_squares.feature_eigenpro import FeatureEigenPro
from ...solvers.least_squares.step_rules import StepRule
from ...solvers.settings import settings_of
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import LeastSquaresEstimator, SquareLossLabels


class FeatureEigenProMachine(LeastSquaresEstimator):
    """Base of the two estimators: parameters and fit of EigenPro on explicit features, for classes and for values."""

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
    ): ...

    def _train(
        self,
        rows: TrainingSet,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        ranks: Alone,
    ) -> FittedFunction:
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
            warm=(self._warm_start_parameters(), vars(self).get("_ended")),
            seed=self._seed(),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )

    def _store(self, found: FittedFunction) -> None:
        vars(self).pop("bandwidth_", None)  # of a fit with other parameters
        super()._store(found)
        self.coef_ = found.model.coefficients.T
        if found.bandwidth is not None:
            self.bandwidth_ = found.bandwidth

    def _check_parameters(self) -> None:
        precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")
        super()._check_parameters()
        check_whole(self, "n_features", optional=True)
        settings_of(FeatureEigenPro, self).check()
        feature_maps.check(self.features)


class FeatureEigenProClassifier(SquareLossLabels, FeatureEigenProMachine):
    """Classification by EigenPro on explicit features: a linear model of least squares on ±1 targets.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProClassifier`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant); further names are the
        keys of `shallows.features.FEATURE_MAPS`. An object has ``map(x)`` of shape (m, n_features) and ``n_features``;
        it receives the inputs without centring. A transformer goes into a pipeline before a linear model, or into
        `FeatureRidgeClassifier`.
    n_features : int, optional
        How many features; None takes 40 √n, from 4,000 to 10,000, of random frequencies, and 4,000 of the other maps. A
        cosine and a sine are two, so that for pairs an odd number becomes the next even one. "linear" and objects have
        their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below max(λ, 0.1)/n before (1/n without λ); up to 1,000 points, the directions above
        λ/n and above 1/2,000 of the largest eigenvalue (1/200 without λ; where features are kernel functions, the
        square of 1/200). 0 flattens none. A given rank is a limit: directions whose eigenvalues lie below λ/n are left
        as they are.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500 and
        at most 12,000, as the memory allows, and twice a given ``rank``; all of up to 1,000 points where ``rank`` is
        None.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``. The paper has τ = ¼ and a = ½
        on random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the same
        progress: β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue. Of up to
        1,000 rows, all of which are in the subsample, it takes all.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss. With a regularisation
        and more than 10,000 rows, stop as well after two epochs in a row over which the loss fell by less than twice
        this share of itself.
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
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features)
        A, transposed.
    bandwidth_ : float
        Of the named maps.
    step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
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
    """Regression by EigenPro on explicit features: a linear model of least squares.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProRegressor`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant); further names are the
        keys of `shallows.features.FEATURE_MAPS`. An object has ``map(x)`` of shape (m, n_features) and ``n_features``;
        it receives the inputs without centring. A transformer goes into a pipeline before a linear model, or into
        `FeatureRidgeClassifier`.
    n_features : int, optional
        How many features; None takes 40 √n, from 4,000 to 10,000, of random frequencies, and 4,000 of the other maps. A
        cosine and a sine are two, so that for pairs an odd number becomes the next even one. "linear" and objects have
        their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below max(λ, 0.1)/n before (1/n without λ); up to 1,000 points, the directions above
        λ/n and above 1/2,000 of the largest eigenvalue (1/200 without λ; where features are kernel functions, the
        square of 1/200). 0 flattens none. A given rank is a limit: directions whose eigenvalues lie below λ/n are left
        as they are.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500 and
        at most 12,000, as the memory allows, and twice a given ``rank``; all of up to 1,000 points where ``rank`` is
        None.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``. The paper has τ = ¼ and a = ½
        on random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the same
        progress: β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue. Of up to
        1,000 rows, all of which are in the subsample, it takes all.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss. With a regularisation
        and more than 10,000 rows, stop as well after two epochs in a row over which the loss fell by less than twice
        this share of itself.
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
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features)
        A, transposed.
    bandwidth_ : float
        Of the named maps.
    step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, Table 1 and section 4.
    """
