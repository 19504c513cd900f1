"""Gaussian process regression on features: Bayesian linear regression with the variance that these leave out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse
from sklearn.utils import check_random_state

from ... import arrays, kernels, streams
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...fitting.parameter_checks import check_choice, check_whole, is_whole
from ...kernels import Kernel
from ...models.centring import refuse_wide
from ...models.kernel_checks import check_scale
from ...solvers.least_squares.normal_equations import sums_of_features
from ...spectrum import marginal_likelihood
from ..array_inputs import follows_input
from ..constructors import stores_parameters
from ..feature_maps.fourier_features import FourierFeatures
from ..feature_maps.nystroem_features import NystroemFeatures
from ..feature_maps.quasi_monte_carlo_features import QuasiMonteCarloFeatures
from .feature_least_squares import FeatureLeastSquaresRegressor

MAPS = {"nystrom": NystroemFeatures, "fourier": FourierFeatures, "quasi_monte_carlo": QuasiMonteCarloFeatures}
"""The transformers by the names of their maps."""

ROWS_TO_CHOOSE_WITH = 1000
"""Rows of the exact marginal likelihood. A bandwidth takes an eigendecomposition, a third of a second for so many."""


MOST_LEFT, MOST_TIMES = 10.0, 1000.0
"""The noise is chosen anew with all rows where it is at least so many times what the features leave of the kernel's
variance; by so much at most."""


class FeatureGaussianProcessRegressor(FeatureLeastSquaresRegressor):
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

    # --------------------------------------------------------------------------------------- the fit

    def _unit_of_targets(self, y: np.ndarray) -> np.ndarray:
        return np.ones(y.shape[1])  # The variances are in the units of the targets.

    def _fit(self, X: Any, y: Any, sample_weight: Any, observers: Sequence = ()) -> Self:
        try:
            return super()._fit(X, y, sample_weight, observers)
        except (np.linalg.LinAlgError, OverflowError) as error:
            raise ShallowsError(
                "The covariance of the targets cannot be computed in float64, because the noise variances of the rows "
                "are too small or too different. A weight divides the noise variance of its row: use sample weights "
                "nearer to 1 and to each other, or give a larger noise_variance."
            ) from error

    def _fit_transformer(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> tuple[float, dict[str, Any]]:
        seed = self._seed()
        choice, width = self._choice(X, targets, weights, seed)
        self._ratio = choice.ratio
        same = {name: getattr(self, name) for name in ("kernel_params", "n_features", "device", "memory", "dtype")}
        self.transformer_ = MAPS[self.features](self.kernel, bandwidth=width, random_state=seed, **same).fit(X)
        self.bandwidth_ = self.transformer_.bandwidth_
        rows = min(X.shape[0], ROWS_TO_CHOOSE_WITH)
        told = {"chosen_by": "marginal likelihood", "rows": rows, "log_likelihood": float(choice.log_likelihood)}
        return choice.ratio, {"selection": told}

    def _choice(
        self, X: Any, targets: np.ndarray, weights: np.ndarray | None, seed: int
    ) -> tuple[marginal_likelihood.MarginalChoice, float | None]:
        """The choice on some rows, and the bandwidth of the features; None is that of the kernel, or any."""
        refuse_wide(X)
        rows = streams.permutation(seed, "rows to choose with", 0, X.shape[0])[:ROWS_TO_CHOOSE_WITH]
        points = X[rows].toarray() if scipy.sparse.issparse(X) else np.asarray(X[rows])
        with np.errstate(over="ignore", invalid="ignore"):
            points = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
            augmented, finite = kernels.augmented(points), np.isfinite(np.vdot(targets, targets))
        check_scale(augmented, points.dtype, may_vanish=True)
        if not finite:
            raise ShallowsError("The targets are too large: their squares leave the numbers of float64. Scale y.")
        given = None if isinstance(self.bandwidth, str) else self.bandwidth
        name, width, parameters = kernels.translated(self.kernel, given, self.kernel_params)
        median, all_equal = None, not points.any()
        if width is None and not isinstance(name, Kernel) and not all_equal:
            median = kernels.median_bandwidth(points, seed)
            width = given = median
        searches = median is not None and leave_one_out_choice.is_automatic(self.bandwidth)

        def matrix_of(searched: float | None) -> np.ndarray:
            if all_equal:
                return np.ones((len(points), len(points)))
            made = name if isinstance(name, Kernel) else kernels.make(name, searched or width, **parameters)
            return np.asarray(kernels.matrix(made, augmented))

        options = {"median": median if searches else None, "weights": None if weights is None else weights[rows]}
        choice = marginal_likelihood.choose(matrix_of, targets[rows], **options, **self._given())
        return choice, choice.bandwidth if searches else given

    def _given(self) -> dict[str, float | None]:
        values = {"signal": self.signal_variance, "noise": self.noise_variance}
        return {name: None if isinstance(value, str) else float(value) for name, value in values.items()}

    def _solve(
        self, X: Any, targets: np.ndarray, root: np.ndarray | None, ridge: float, observers: Sequence
    ) -> tuple[np.ndarray, dict[str, Any]]:
        # In units of s: βᵀh(x) has the prior β ~ N(0, I), and a row the variance `variances` beside it.
        n, width = X.shape[0], self.transformer_._n_features_out
        self._check_memory(width, "features")
        noise = np.full(n, ridge) if root is None else ridge / root**2
        squares, logarithms, share = np.zeros(targets.shape[1]), 0.0, 0.0

        def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            nonlocal squares, logarithms, share
            for H, T in self._blocks_of_rows(X, np.column_stack([targets, noise]), None, width):
                left, beside = _left_of_the_kernel(H), T[:, -1]
                share += float(np.sum(left / beside)) / n
                factor = 1.0 / np.sqrt(left + beside)[:, None]
                T = factor * T[:, :-1]
                squares, logarithms = squares + (T * T).sum(axis=0), logarithms - 2.0 * float(np.log(factor).sum())
                yield (factor * H).astype(H.dtype, copy=False), T

        gram, moments = sums_of_features(blocks(), 1.0)

        def posterior(times: float) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
            """Log-likelihood, factor of A, L⁻¹HᵀV⁻¹y and s with the variances multiplied."""
            matrix = gram / times
            matrix[np.diag_indices(width)] += 1.0
            factor = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True)
            solved = scipy.linalg.solve_triangular(factor, moments / times, lower=True)
            rest = np.maximum(squares / times - (solved**2).sum(axis=0), 0.0)
            determinant = 2.0 * float(np.log(np.diag(factor)).sum()) + logarithms + n * math.log(times)
            s = marginal_likelihood.signal_variances(rest, n, self._ratio * times, **self._given())
            return marginal_likelihood.log_likelihood(rest, determinant, n, s), factor, solved, s

        # Where the features leave next to nothing of the kernel, the variances of the rows are their noise.
        times, least = 1.0, max(MOST_LEFT * share, 1.0 / MOST_TIMES)
        if least < 1.0 and None in self._given().values():
            bounds = {
                "bounds": (math.log(least), math.log(MOST_TIMES)),
                "method": "bounded",
                "options": {"xatol": 0.05},
            }
            found = scipy.optimize.minimize_scalar(lambda t: -posterior(math.exp(t))[0], **bounds)
            times = math.exp(found.x)
        self.log_marginal_likelihood_value_, self._factor, solved, self.signal_variance_ = posterior(times)
        self._ratio *= times
        self.noise_variance_ = self._ratio * self.signal_variance_
        coefficients = scipy.linalg.solve_triangular(self._factor, solved, lower=True, trans="T")
        return coefficients, {"ridge": self._ratio}

    def _features(self, X: Any) -> Iterator[np.ndarray]:
        self.transformer_.set_params(device=self.device)  # a model may be moved after its fit
        none = np.empty((X.shape[0], 0))
        return (H for H, _ in self._blocks_of_rows(X, none, None, self.transformer_._n_features_out))

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
        variances = np.concatenate([(V**2).sum(axis=0) + own for V, own in self._parts_of_variance(X)])
        return self._decode(np.sqrt(variances[:, None] * self.signal_variance_))

    @follows_input
    def _covariances(self, X: Any) -> np.ndarray:
        X = self._validated(X)
        n, c, budget = X.shape[0], len(self.coef_), self._working_budget(arrays.Device("cpu"))
        arrays.check_room(f"The covariances of {n:,} points take", 16 * n * n * c, budget, "Take fewer points.")
        parts = list(self._parts_of_variance(X))
        V, own = np.hstack([V for V, _ in parts]), np.concatenate([own for _, own in parts])
        covariance = (V.T @ V + np.diag(own))[:, :, None] * self.signal_variance_
        return covariance[:, :, 0] if self._one_column else covariance

    def _parts_of_variance(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of blocks of rows in units of s: V with VᵀV the covariance of βᵀh, and the variance of each row alone."""
        for H in self._features(X):
            H = H.astype(np.float64, copy=False)
            yield scipy.linalg.solve_triangular(self._factor, H.T, lower=True), _left_of_the_kernel(H) + self._ratio

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
        c, D = self.coef_.shape
        drawn = streams.normal(seed, "coefficients", 0, (D, c * n_samples))
        drawn = scipy.linalg.solve_triangular(self._factor, drawn, lower=True, trans="T")
        out, deviations = [], np.sqrt(self.signal_variance_)[:, None]
        for block, H in enumerate(self._features(X)):
            own = np.sqrt(_left_of_the_kernel(H) + self._ratio)[:, None]
            made = H @ drawn + own * streams.normal(seed, "noise", block, (len(H), c * n_samples))
            mean = self._unscale(H @ self.coef_.T)
            out.append(mean[:, :, None] + deviations * made.reshape(len(H), c, n_samples))
        made = np.concatenate(out)
        return made[:, 0] if self._one_column else made


def _left_of_the_kernel(H: np.ndarray) -> np.ndarray:
    """k(x, x) − ‖h(x)‖² for kernels with k(x, x) = 1, shape (m,)."""
    return np.maximum(1.0 - np.einsum("ij,ij->i", H, H, dtype=np.float64), 0.0)
