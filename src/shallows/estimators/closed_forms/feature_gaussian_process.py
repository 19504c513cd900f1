"""Gaussian process regression on features: Bayesian linear regression with the variance that these leave out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ... import arrays, kernels, training
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...fitting.checks import check_choice, check_whole, is_whole
from ...fitting.feature_gaussian_process import FittedGaussianProcess, Variances, fit_feature_gaussian_process
from ..base import Estimator
from ..feature_maps.fourier_features import FourierFeatures
from ..feature_maps.nystroem_features import NystroemFeatures
from ..feature_maps.quasi_monte_carlo_features import QuasiMonteCarloFeatures
from ..inputs import follows_input
from ..parameters import stores_parameters
from ..predictions import ValuePredictions

MAPS = {"nystrom": NystroemFeatures, "fourier": FourierFeatures, "quasi_monte_carlo": QuasiMonteCarloFeatures}
"""The transformers by the names of their maps."""


class FeatureGaussianProcessRegressor(ValuePredictions, Estimator):
    """Gaussian process regression on explicit features: means and variances, in closed form and one pass over the data.

    Targets are their mean plus f(x) plus noise. With features h(x), f(x) is βᵀh(x) with normal coefficients β, plus a
    part that is independent from point to point and has the variance that the features leave of the kernel's,
    k(x, x) − ‖h(x)‖². The posterior of β is that of Bayesian linear regression, in closed form, in time n D² for n rows
    and D features. On Nyström features this is the approximation that is called FITC; with all training points as
    landmarks it is the exact Gaussian process, and far from the landmarks the variance is that of the prior. Random
    Fourier features leave nothing of the kernel's variance: on them, variances hold among the training points, and far
    from these are too small.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        A shift-invariant kernel of `shallows.kernels` with k(x, x) = 1: "gaussian", "laplace", "cauchy", "matern",
        "laplace_product", "cauchy_product".
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the inputs. "auto" takes that of the largest marginal likelihood of the exact Gaussian
        process on up to 1,000 rows; None and "median" take the median distance between these.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``.
    signal_variance : float or "auto", default="auto"
        s, the variance of f, in squared units of the targets: the covariance of f is s k(x, x').
    noise_variance : float or "auto", default="auto"
        The variance of the noise, for a row of weight 1. What is "auto" of the two variances has the largest marginal
        likelihood on up to 1,000 rows, and then with the features on all rows: the size of both, and also their ratio
        where the features leave next to nothing of the kernel's variance.
    features : {"nystrom", "fourier", "quasi_monte_carlo"}, default="nystrom"
        The map. "nystrom" has sampled training points as landmarks.
    n_features : int, default=1000
        D, the number of features; of landmarks at most one for each training point.
    random_state : int, RandomState or None, default=None
        Decides the features and the rows to choose with. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; systems of equations are solved in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the training points.
    verbose : int, default=0
        Without effect, since there is one system to solve; here so that all estimators take it.

    Attributes
    ----------
    bandwidth_ : float
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features_out)
        Posterior mean of β.
    signal_variance_, noise_variance_ : ndarray, shape (n_outputs,)
    log_marginal_likelihood_value_ : float
        Of all rows, summed over the outputs.
    transformer_ : FeatureMapTransformer
        The fitted features.
    n_iter_ : int
        1.
    effective_params_ : dict
        What the program chose where a parameter left it open, with ``ridge``, the noise over the signal variance;
        ``selection`` tells by how many rows bandwidth and variances were chosen, and their likelihood.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    E. Snelson and Z. Ghahramani (2006), "Sparse Gaussian processes using pseudo-inputs", NIPS 18. J. Quiñonero-Candela
    and C. Rasmussen (2005), "A unifying view of sparse approximate Gaussian process regression", JMLR 6.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows import FeatureGaussianProcessRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> model = FeatureGaussianProcessRegressor(random_state=0).fit(X, y)
    >>> mean, deviation = model.predict([[3.0], [30.0]], return_std=True)
    >>> bool(deviation[0] < 0.2 < deviation[1])
    True
    """

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        signal_variance: float | str = "auto",
        noise_variance: float | str = "auto",
        features: str = "nystrom",
        n_features: int = 1000,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        for name in ("signal_variance", "noise_variance"):
            leave_one_out_choice.check_or_auto(self, name)
        check_choice(self, features=tuple(MAPS))
        check_whole(self, "n_features")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        if not kernels.kind(self.kernel).defines("frequencies"):
            raise ShallowsError(
                f"The variance of f is that of a kernel with k(x, x) = 1 of the difference of two points, and "
                f"{self.kernel!r} is none. Kernels that are: {kernels.names_that_define('frequencies')}."
            )

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features and then the coefficients.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, or no table of numbers.
        ShallowsError
            A parameter out of its range.
        """
        self._check_parameters()
        rows, seed = self._validated_training_set(X, y, sample_weight), self._seed()
        same = {name: getattr(self, name) for name in ("kernel_params", "n_features", "device", "memory", "dtype")}
        given = (None if isinstance(one, str) else float(one) for one in (self.signal_variance, self.noise_variance))
        transformer = MAPS[self.features](self.kernel, random_state=seed, **same)
        transformer._warns_of_units = False  # This estimator warns.
        try:
            found = fit_feature_gaussian_process(
                rows,
                transformer=transformer,
                kernel=self.kernel,
                bandwidth=self.bandwidth,
                kernel_params=self.kernel_params,
                variances=Variances(*given),
                seed=seed,
                options=self._options(),
            )
        except (np.linalg.LinAlgError, OverflowError) as error:
            raise ShallowsError(
                "The covariance of the targets cannot be computed in float64, because the noise variances of the rows "
                "are too small or too different. A weight divides the noise variance of its row: use sample weights "
                "nearer to 1 and to each other, or give a larger noise_variance."
            ) from error
        self._store(found)
        return self

    def _store(self, found: FittedGaussianProcess) -> None:
        """Set the fitted attributes."""
        model, self._targets, self._model = found.model, found.targets, found.model
        self.transformer_, self.coef_ = model.mean.transformer, model.mean.coefficients
        self.intercept_, self.bandwidth_ = found.targets.intercept, self.transformer_.bandwidth_
        self.signal_variance_, self.noise_variance_ = model.signal_variance, model.ratio * model.signal_variance
        self.log_marginal_likelihood_value_, self.n_iter_ = found.log_likelihood, 1
        self.effective_params_, self.timings_ = found.report, found.seconds

    # ---------------------------------------------------------------------------------- the posterior

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Means of new observations, and how sure they are.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        return_std : bool, default=False
            Return the standard deviations as well; their squares less ``noise_variance_`` are the variances of f.
        return_cov : bool, default=False
            Return the covariances as well.

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_outputs), as y was
            The means. With ``return_std`` a tuple of these and the standard deviations of observations, of the same
            shape; with ``return_cov`` and the covariances, shape (n_samples, n_samples) or (n_samples, n_samples,
            n_outputs).
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
        return self._targets.decode(self._model.deviations(X, self.device))

    @follows_input
    def _covariances(self, X: Any) -> np.ndarray:
        X = self._validated(X)
        covariance = self._model.covariances(X, self.device, self._working_budget(arrays.Device("cpu")))
        return covariance[:, :, 0] if self._targets.one_column else covariance

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of new observations from the posterior, joint over the points.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples_X, n_features)
        n_samples : int, default=1
            How many draws.
        random_state : int, RandomState or None, default=0

        Returns
        -------
        ndarray, shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
        """
        X = self._validated(X)
        if not is_whole(n_samples):
            raise ShallowsError(f"n_samples must be a whole number of at least 1, got {n_samples!r}.")
        seed = random_state if is_whole(random_state, 0, None) else check_random_state(random_state).randint(2**31 - 1)
        made = self._model.draws(X, self.intercept_, n_samples, seed, self.device)
        return made[:, 0] if self._targets.one_column else made

    def _raw_predict(self, X: Any) -> np.ndarray:
        """Means in the units of the targets, float64, shape (m, c), for checked X."""
        return self._model.mean.scores(X, self.device) + self.intercept_
