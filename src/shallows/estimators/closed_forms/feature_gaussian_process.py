"""Gaussian process regression on features: Bayesian linear regression, with the variance that the features miss."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from ... import arrays, kernels
from ...arrays.user_arrays import follows_input
from ...errors import ShallowsError
from ...fitting.feature_gaussian_process import FittedGaussianProcess, Variances, fit_feature_gaussian_process
from ...fitting.fit_call import FitCall
from ...fitting.machine import Options
from ...fitting.rows import TrainingSet
from ...utils.checks import check_positive, is_whole, refuse_time_limit
from ..constructors import stores_parameters
from ..feature_maps import specification
from ..feature_maps.fourier import FourierFeatures
from ..feature_maps.landmarks import NystroemFeatures
from ..feature_maps.quasi_monte_carlo import QuasiMonteCarloFeatures
from ..feature_maps.specification import TRANSFORMERS
from ..predictions import ValuePredictions
from .transformed_estimator import TransformedEstimator

MAPS = (NystroemFeatures, FourierFeatures, QuasiMonteCarloFeatures)
"""Transformers whose features have squared norms of at most about k(x, x) = 1."""


class FeatureGaussianProcessRegressor(ValuePredictions, TransformedEstimator):
    """Gaussian process regression on explicit features: means and variances in closed form, by one pass over the data.

    Targets are their mean plus f(x) plus noise. With features h(x), f(x) is βᵀh(x) with normal coefficients β, plus an
    independent part with the variance k(x, x) − ‖h(x)‖² that the features miss. The posterior of β is that of Bayesian
    linear regression, in time n D² for n rows and D features. On Nyström features this is called FITC. With all
    training points as landmarks, its means and standard deviations are those of the exact process. Far away from the
    landmarks its draws are not: there the independent part is most of f, so that they are not smooth. Random Fourier
    features miss nothing: their variances are right among the training points, and too small elsewhere.

    Variances that are "auto" maximize the marginal likelihood: first on up to 1,000 rows, then their size on all rows.

    Attributes
    ----------
    bandwidth_ : float
    intercept_ : ndarray, shape (n_outputs,), the mean of the targets
    coef_ : ndarray, shape (n_outputs, n_features_out), the posterior mean of β
    signal_variance_, noise_variance_ : ndarray, shape (n_outputs,)
    log_marginal_likelihood_value_ : float, of all rows, summed over outputs
    transformer_ : FeatureMapTransformer
    n_iter_ : int
    report_ : dict
        ``ridge`` is the noise over the signal variance; ``selection`` has the rows and the likelihood of the choice.
    options_ : Options

    See Also
    --------
    FeatureRidgeRegressor : the same means by a ridge that leave-one-out errors choose, without variances.
    sklearn.gaussian_process.GaussianProcessRegressor : the exact process, with a kernel of several bandwidths.

    References
    ----------
    E. Snelson and Z. Ghahramani (2006), "Sparse Gaussian processes using pseudo-inputs", NIPS 18. J. Quiñonero-Candela
    and C. Rasmussen (2005), "A unifying view of sparse approximate Gaussian process regression", JMLR 6.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows.gaussian_process import FeatureGaussianProcessRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> model = FeatureGaussianProcessRegressor(random_state=0).fit(X, y)
    >>> mean, deviation = model.predict([[3.0], [30.0]], return_std=True)
    >>> bool(deviation[0] < 0.2 < deviation[1])
    True
    """

    _named: ClassVar[Any] = {"features": TRANSFORMERS}

    @stores_parameters
    def __init__(
        self,
        features: Any = "nystrom",
        *,
        signal_variance: float | str = "auto",
        noise_variance: float | str = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        features : str or transformer, default="nystrom"
            "nystrom", "fourier" or "quasi_monte_carlo", or such a transformer, with a kernel of x − x'. The bandwidth
            "auto" maximizes the likelihood of the exact process on up to 1,000 rows; its seed and options are not used.
        signal_variance : float or "auto", default="auto"
            s, the variance of f, in squared units of the targets: the covariance of f is s k(x, x').
        noise_variance : float or "auto", default="auto"
            Variance of the noise, for a row of weight 1.
        random_state : int, RandomState or None, default=None
        options : Options, optional
            Device, memory and precision of the features; equations are solved in float64 on a CPU.
        """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "signal_variance", "noise_variance", rules=("auto",))
        refuse_time_limit(
            self, "it is solved directly. Give signal_variance and noise_variance, or take fewer features."
        )
        specification.check(self.features, type(self).__name__)
        transformer = specification.transformer_of(self.features)
        if not isinstance(transformer, MAPS):
            raise ShallowsError(
                "features must be 'nystrom', 'fourier' or 'quasi_monte_carlo', or NystroemFeatures, FourierFeatures or "
                f"QuasiMonteCarloFeatures, got {self.features!r}."
            )
        if not kernels.make(transformer.kernel).defines("frequencies"):
            raise ShallowsError(
                "The variance of f needs a kernel with k(x, x) = 1 that is a function of the difference of two points, "
                f"got {transformer.kernel!r}. Such kernels are {kernels.names_that_define('frequencies')}."
            )

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedGaussianProcess:
        variances = (None if isinstance(v, str) else float(v) for v in (self.signal_variance, self.noise_variance))
        try:
            return fit_feature_gaussian_process(
                rows,
                transformer=specification.transformer_of(self.features, call.seed, self.options),
                variances=Variances(*variances),
                call=call,
            )
        except (np.linalg.LinAlgError, OverflowError) as error:
            raise ShallowsError(
                "The covariance of the targets cannot be computed in float64, because the noise variances of the rows "
                "are too small or too different. A weight divides the noise variance of its row: use sample weights "
                "nearer to 1 and to each other, or give a larger noise_variance."
            ) from error

    def _store(self, found: FittedGaussianProcess) -> None:
        model, self._targets, self._model = found.model, found.targets, found.model
        self.transformer_, self.coef_ = model.mean.transformer, model.mean.coefficients
        self.intercept_, self.bandwidth_ = found.targets.intercept, self.transformer_.bandwidth_
        self.signal_variance_, self.noise_variance_ = model.signal_variance, model.ratio * model.signal_variance
        self.log_marginal_likelihood_value_, self.n_iter_ = found.log_likelihood, 1
        self.report_ = {**found.report, "timings": found.seconds}

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Means of new observations, and their deviations or covariances.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the standard deviations. Their squares minus ``noise_variance_`` are the variances of f.
        return_cov : bool, default=False
            Also return the covariances, shape (n_samples, n_samples) or (n_samples, n_samples, n_outputs).

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_outputs), as y was, or a tuple of two arrays
        """
        if return_std and return_cov:
            raise ShallowsError("At most one of return_std and return_cov can be True.")
        mean = super().predict(X)
        if return_cov:
            return mean, self._covariances(X)
        return (mean, self._deviations(X)) if return_std else mean

    @follows_input
    def _deviations(self, X: Any) -> np.ndarray:
        X = self._validated(X)
        return self._targets.decode(self._model.deviations(X, self._options().device))

    @follows_input
    def _covariances(self, X: Any) -> np.ndarray:
        X = self._validated(X)
        covariance = self._model.covariances(X, self._options().device, self._options().budget(arrays.Device("cpu")))
        return covariance[:, :, 0] if self._targets.one_column else covariance

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Joint draws of new observations from the posterior, with the noise and the independent part of each.

        Shape (n_samples_X, n_samples), or (n_samples_X, n_outputs, n_samples); ``n_samples`` is the number of draws.
        """
        X = self._validated(X)
        if not is_whole(n_samples):
            raise ShallowsError(f"n_samples must be a whole number of at least 1, got {n_samples!r}.")
        seed = random_state if is_whole(random_state, 0, None) else check_random_state(random_state).randint(2**31 - 1)
        draws = self._model.draws(X, self.intercept_, n_samples, seed, self._options().device)
        return draws[:, 0] if self._targets.one_column else draws

    def _raw_predict(self, X: Any) -> np.ndarray:
        return self._model.mean.scores(X, self._options().device) + self.intercept_
