"""What the closed forms share: the fit of a transformer and of coefficients, and predictions of values and classes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse

from ... import arrays, training
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...solvers.solver_parameters import DeclaresParameters, Parameter, choice
from ...spectrum.principal_components import Components
from ..base import Estimator
from ..predictions import ValuePredictions, unit_of_targets
from ..square_loss_classes import SquareLossClassifier
from .feature_choice import choose_on_features
from .normal_equations import DIRECT_ROWS, FORMS, solve_by_features, solve_by_rows, solve_sparse

BLOCK_NUMBERS = 2**24
"""Numbers of features that are made at a time."""


@dataclass(frozen=True)
class FeatureSolver(DeclaresParameters):
    """How the coefficients of features are solved for.

    Attributes
    ----------
    tol : float
    max_iterations : int
        Where the user names none.
    solve : callable or None
        ``solve(model, X, targets, root, ridge, observers, **parameters)``; None is a closed form.
    parameters : mapping
        Of the solver alone.
    """

    tol: float
    max_iterations: int
    solve: Callable[..., tuple[np.ndarray, dict[str, Any]]] | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


DIRECT = FeatureSolver(1e-6, 1000, parameters={"form": choice(*FORMS)})


class FeatureLeastSquares(Estimator):
    """Base: least squares with a ridge on the features of a transformer.

    A subclass writes out its constructor and defines `_make_transformer`, `_searches` and `_ridge`.
    """

    _sums_losses = True  # λ stands beside the sum of the squared errors.

    def _make_transformer(self, seed: int, bandwidth: float | None = None) -> Any:
        """An unfitted transformer of points to features; with a bandwidth that was chosen for it, if there is one."""
        raise NotImplementedError

    def _searches(self) -> bool:
        """Whether the bandwidth is left to the training data."""
        return False

    def _ridge(self) -> float | None:
        """λ, what is added to the diagonal; None where it is left to the training data."""
        raise NotImplementedError

    def _limits(self) -> tuple[float, int]:
        """Tolerance and most iterations of a solver that iterates."""
        return DIRECT.tol, DIRECT.max_iterations

    def _components_of(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> Components | None:
        """Principal components to take in the place of the inputs."""
        return None

    def _narrowing(self, X: Any) -> dict[str, Any]:
        """What `choose_on_features` needs to look for a narrower bandwidth with more rows."""
        return {}

    def _for_rows(self, transformer: Any, n: int) -> Any:
        """The unfitted transformer with as many features as n rows are worth, where none were asked for."""
        return transformer

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

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
            NaN or infinity, no table of numbers, or one class only.
        ShallowsError
            A parameter out of its range.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, observers: Sequence[training.Observer] = ()) -> Self:
        self._check_parameters()
        started = time.perf_counter()
        X, y, weights = self._validated_training_set(X, y, sample_weight)[:3]
        targets = self._encode(y, weights)
        self._components = self._components_of(X, targets, weights)
        X = X if self._components is None else self._components(X)
        root = None if weights is None else np.sqrt(weights / weights.max())
        ridge, selection = self._fit_transformer(X, targets, weights)
        ridge /= 1.0 if weights is None else float(weights.max())
        made, self.n_iter_ = time.perf_counter(), 1
        coefficients, told = self._solve(X, targets, root, ridge, observers)
        if not np.isfinite(coefficients).all():
            raise ShallowsError("The coefficients are not finite: features or targets are too large. Scale X and y.")
        self.coef_ = self._in_units_of_targets(np.ascontiguousarray(coefficients.T))
        of_inputs = {}
        if hasattr(self, "n_components"):
            of_inputs = {"n_components": None if self._components is None else self._components.directions.shape[1]}
        self.effective_params_ = {
            **self.transformer_.effective_params_,
            **of_inputs,
            "ridge": ridge,
            **told,
            **selection,
        }
        self.timings_ = {"features": made - started, "training": time.perf_counter() - made}
        return self

    def _solve(
        self,
        X: Any,
        targets: np.ndarray,
        root: np.ndarray | None,
        ridge: float,
        observers: Sequence,
        form: str = "auto",
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The coefficients of the fitted transformer's features, shape (n_features, c), and what to tell of them.

        ``root``: square roots of the weights, of which the largest is one. ``form``: the system that is solved for
        dense features, a member of `FORMS`.
        """
        n = X.shape[0]
        if not self._dense():
            H = self.transformer_.transform(X)
            H = H if root is None else scipy.sparse.diags_array(root) @ H
            T = targets if root is None else root[:, None] * targets
            coefficients, self.n_iter_ = solve_sparse(H, T, ridge, *self._limits())
            return coefficients, {"form": "rows" if n <= DIRECT_ROWS else "conjugate gradients"}
        width = len(self.transformer_.get_feature_names_out())
        form = ("rows" if n < width else "features") if form == "auto" else form
        blocks = self._blocks_of_rows(X, targets, root, width)
        self._check_memory(width if form == "features" else n, form)
        if form == "features":
            return solve_by_features(blocks, ridge), {"form": form}
        H, T = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return solve_by_rows(H, T, ridge), {"form": form}

    def _fit_transformer(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> tuple[float, dict[str, Any]]:
        """Choose what is left to the training data and fit the transformer; λ, and what to tell of the choice."""
        seed, ridge = self._seed(), self._ridge()
        choice = choose_on_features(
            lambda bandwidth: self._make_transformer(seed, bandwidth),
            X,
            targets,
            weights,
            seed,
            searches=self._searches(),
            ridge=ridge,
            **self._narrowing(X),
        )
        made = self._make_transformer(seed, None if choice is None else choice.bandwidth)
        self.transformer_ = self._for_rows(made, X.shape[0]).fit(X)
        if ridge is None:
            ridge = 1.0 if choice is None else choice.regularisation
        return ridge, leave_one_out_choice.report(choice)

    def _in_units_of_targets(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients of shape (c, n_features) for the targets that the user gave."""
        return coefficients * vars(self)["_target_unit"][:, None] if self._y_is_numeric else coefficients

    def _dense(self) -> bool:
        return not self.transformer_._blocks.is_sparse

    def _check_memory(self, size: int, of: str) -> None:
        arrays.check_room(
            f"A system of {size:,} equations, one for each of the {of}, takes",
            24 * size * size,
            self._working_budget(arrays.Device("cpu")),
            "Take fewer features, or give more memory.",
        )

    def _blocks_of_rows(
        self, X: Any, targets: np.ndarray, root: np.ndarray | None, width: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // width)):
            H, T = self.transformer_.transform(X[rows]), targets[rows]
            yield (H, T) if root is None else (root[rows, None] * H, root[rows, None] * T)

    def _raw_predict(self, X: Any) -> np.ndarray:
        """Outputs of the linear function, float64, shape (n_samples, n_outputs), for checked X."""
        if "device" in self.transformer_.get_params(deep=False):
            self.transformer_.set_params(device=self.device)  # a model may be moved after its fit
        components = getattr(self, "_components", None)
        X = X if components is None else components(X)
        out = np.empty((X.shape[0], len(self.coef_)))
        width = 1024 if not self._dense() else self.coef_.shape[1]
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // width)):
            out[rows] = self.transformer_.transform(X[rows]) @ self.coef_.T
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


class FeatureLeastSquaresClassifier(SquareLossClassifier, FeatureLeastSquares):
    """Classification by least squares on targets −1 and +1, one output a class (one in all for two classes)."""


class FeatureLeastSquaresRegressor(ValuePredictions, FeatureLeastSquares):
    """Regression by least squares about the mean of the targets, one or several outputs."""

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        self._target_unit = self._unit_of_targets(y)
        y = y / self._target_unit
        mean = np.average(y, axis=0, weights=weights)
        self.intercept_ = mean * self._target_unit
        return y - mean

    def _unit_of_targets(self, y: np.ndarray) -> np.ndarray:
        """What the targets are divided by in the fit."""
        return unit_of_targets(y)

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores + self.intercept_
