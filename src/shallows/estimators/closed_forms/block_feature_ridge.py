"""Ridge regression on explicit features by block coordinate descent, which holds one block of columns at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ... import arrays, training
from ...errors import ShallowsError, UnknownNameError
from ...solvers.least_squares.feature_block_descent import FeatureBlockDescent, FeatureBlockProblem
from .. import leave_one_out_choice
from ..base import warn_user
from ..constructors import stores_parameters
from ..feature_maps.base import FeatureMapTransformer
from ..parameter_checks import check_not_negative, check_whole
from . import feature_ridge
from .feature_least_squares import FeatureLeastSquaresClassifier, FeatureLeastSquaresRegressor

TRANSFORMERS = {name: made for name, made in feature_ridge.TRANSFORMERS.items() if name != "binning"}
"""The transformers with dense rows by the names of their maps."""

STRIP_NUMBERS = 2**22
"""Numbers of features of a strip."""


class MadeColumns:
    """Features of a fitted transformer in blocks of columns: from a matrix that is kept whole, or made for each use.

    Parameters
    ----------
    transformer : FeatureMapTransformer
    X : array or CSR matrix, shape (n, d)
    roots : ndarray, shape (n,), optional
        Factors of the rows.
    block_size : int
    budget : int
        Bytes. Where the whole matrix fits half of them it is kept.
    """

    def __init__(self, transformer: Any, X: Any, roots: np.ndarray | None, block_size: int, budget: int):
        self._transformer, self._X, self._roots = transformer, X, roots
        made, width = transformer._blocks.spans, transformer._blocks.n_features
        needed = X.shape[0] * width * np.dtype(transformer._dtype).itemsize
        self._kept = None
        if needed <= budget // 2:
            self._kept = transformer.transform(X)
        elif len(made) == 1 and block_size < width:
            raise ShallowsError(
                f"These features are made all at once, and for {X.shape[0]:,} rows take {needed / 1e9:.3g} GB, more "
                "than half of the budget. Give more memory, or take fewer, or 'fourier', which are made in blocks."
            )
        # Of a map that is made in blocks no block is cut; several are taken together.
        self._parts: list[list[int]] = [[]]
        self.spans = list(arrays.blocks(width, block_size))
        if self._kept is None:
            for k, span in enumerate(made):
                begun = self._parts[-1]
                if begun and span.stop - made[begun[0]].start > block_size:
                    self._parts.append([])
                self._parts[-1].append(k)
            self.spans = [slice(made[part[0]].start, made[part[-1]].stop) for part in self._parts]

    def strips(self, k: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows, and these rows of block k."""
        span, n = self.spans[k], self._X.shape[0]
        for rows in arrays.blocks(n, max(1, STRIP_NUMBERS // (span.stop - span.start))):
            made = self._made(rows, k) if self._kept is None else self._kept[rows, span]
            yield rows, made if self._roots is None else self._roots[rows, None] * made

    def _made(self, rows: slice, k: int) -> np.ndarray:
        one = self._transformer
        device, parts = arrays.resolve_device(one.device), []
        blocks = one._blocks.to(device)
        with device.active():
            for _, x, _ in one._centring.new_points(self._X[rows], device, one._dtype):
                parts.append(np.hstack([arrays.to_numpy(blocks.block(x, b)) for b in self._parts[k]]))
        return np.vstack(parts)


class _BlockFeatureRidge:
    """Parameters and fit of block coordinate descent on features, for classes and for values."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_or_auto(self, "regularisation")
        check_not_negative(self, "tol")
        check_whole(self, "block_size", "max_epochs")
        if isinstance(self.features, str) and self.features not in TRANSFORMERS:
            raise UnknownNameError("feature map with dense rows", self.features, TRANSFORMERS)
        if not isinstance(self.features, (str, FeatureMapTransformer)):
            raise ShallowsError(
                f"features must be a name or a transformer of feature maps, got {type(self.features).__name__}."
            )

    # Its transformer is made, and what is left open chosen, as of ridge regression on features in one system.
    _make_transformer = feature_ridge._FeatureRidge._make_transformer
    _searches = feature_ridge._FeatureRidge._searches
    _ridge = feature_ridge._FeatureRidge._ridge

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, observers: Sequence[training.Observer] = ()) -> Self:
        """Fit the features, and then their coefficients block by block.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others, called after every pass.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, no table of numbers, or one class only.
        ShallowsError
            A parameter out of its range, features whose rows are sparse, or features that are made all at once and for
            which there is no room.
        """
        self._check_parameters()
        started = time.perf_counter()
        X, y, weights = self._validated_training_set(X, y, sample_weight)[:3]
        targets = self._encode(y, weights)
        root = None if weights is None else np.sqrt(weights / weights.max())
        ridge, selection = self._fit_transformer(X, targets, weights)
        ridge /= 1.0 if weights is None else float(weights.max())
        if self.transformer_._blocks.is_sparse:
            raise ShallowsError("Block coordinate descent takes features with dense rows: take FeatureRidge for these.")
        made, budget = time.perf_counter(), self._working_budget(arrays.Device("cpu"))
        columns = MadeColumns(self.transformer_, X, root, int(self.block_size), budget)
        widest = max(span.stop - span.start for span in columns.spans)
        problem = FeatureBlockProblem(
            columns,
            targets if root is None else root[:, None] * targets,
            ridge,
            most_factors=budget // 4 // (8 * widest * widest),
        )
        run = training.train(
            FeatureBlockDescent(float(self.tol), self._seed()),
            problem,
            training.OwnRows(1, n_batches=len(columns.spans)),
            training.Stopping(int(self.max_epochs)),
            observers=[*self._progress_observers(), *observers],
        )
        self.coef_ = np.ascontiguousarray(run.state.coefficients.T)
        self.n_iter_ = max(run.epoch, 1)
        self.effective_params_ = {
            **self.transformer_.effective_params_,
            "ridge": ridge,
            "n_blocks": len(columns.spans),
            "relative_gradient": run.state.gap,
            **selection,
        }
        self.timings_ = {"features": made - started, "training": time.perf_counter() - made}
        if not run.state.exhausted:
            warn_user(
                f"After max_epochs={self.max_epochs} the gradient is {run.state.gap:.1e} of that of zero, above "
                f"tol={self.tol:g}; more epochs, larger blocks (block_size) or a larger regularisation would help.",
            )
        return self


class BlockFeatureRidgeClassifier(_BlockFeatureRidge, FeatureLeastSquaresClassifier):
    """Classification by least squares with a ridge on explicit features and ±1 targets, by block coordinate descent.

    The minimiser of `FeatureRidgeClassifier`, found by solving for the coefficients of a block of features with all
    others held, block after block: D features need systems of b unknowns each in the place of one of D. Features that
    the memory has no room for are made anew, block by block, in each pass. Fewer features than rows need few passes.

    Parameters
    ----------
    features : str or transformer, default="fourier"
        "fourier", "fastfood", "quasi_monte_carlo", "nystrom", "rbf", "polynomial", "tensor_sketch", "hidden_units" or
        "semi_random"; or a transformer of the package with dense rows, which is cloned.
    features_params : dict, optional
        Parameters of the transformer of that name, such as ``{"n_features": 500, "bandwidth": 2.0}``. For a map that is
        named and whose kernel or units have a bandwidth, "auto" chooses it from the training points, as does leaving it
        out; "median" takes the median distance.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖β‖² for the sum over all points. "auto" chooses it, and the bandwidth,
        by the leave-one-out errors on up to 1,000 rows in closed form.
    block_size : int, default=2048
        b, the features of a block. Where features are made anew, a block is at least one that the map makes at a time.
    max_epochs : int, default=100
        The most passes over all blocks.
    tol : float, default=1e-4
        Stop after a pass in which the gradients of the blocks, each before its step, were this share of those of zero.
    fit_intercept : bool, default=True
        Learn f about the weighted mean of the targets −1 and +1, which is not regularised: where the inputs tell
        nothing, probabilities are then the class frequencies. False learns f about 0, as the method was published.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the features, and the orders of the blocks. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; the systems of equations are solved in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the training points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features_out)
    transformer_ : FeatureMapTransformer
        The fitted features.
    n_iter_ : int
        Passes.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the ridge, the number of blocks and the share of the
        gradient that was left in the last pass; ``selection`` tells by which errors bandwidth and ridge were chosen.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import BlockFeatureRidgeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> options = {"n_features": 1000, "bandwidth": 20.0}
    >>> model = BlockFeatureRidgeClassifier(features_params=options, regularisation=0.1, block_size=250, random_state=0)
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.94)
    True
    """

    @stores_parameters
    def __init__(
        self,
        features: Any = "fourier",
        *,
        features_params: Mapping[str, Any] | None = None,
        regularisation: float | str = "auto",
        block_size: int = 2048,
        max_epochs: int = 100,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...


class BlockFeatureRidgeRegressor(_BlockFeatureRidge, FeatureLeastSquaresRegressor):
    """Regression by least squares with a ridge on explicit features, by block coordinate descent.

    The minimiser of `FeatureRidgeRegressor`, found by solving for the coefficients of a block of features with all
    others held, block after block: D features need systems of b unknowns each in the place of one of D. Features that
    the memory has no room for are made anew, block by block, in each pass. Fewer features than rows need few passes.

    Parameters
    ----------
    features : str or transformer, default="fourier"
        "fourier", "fastfood", "quasi_monte_carlo", "nystrom", "rbf", "polynomial", "tensor_sketch", "hidden_units" or
        "semi_random"; or a transformer of the package with dense rows, which is cloned.
    features_params : dict, optional
        Parameters of the transformer of that name, such as ``{"n_features": 500, "bandwidth": 2.0}``. For a map that is
        named and whose kernel or units have a bandwidth, "auto" chooses it from the training points, as does leaving it
        out; "median" takes the median distance.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖β‖² for the sum over all points. "auto" chooses it, and the bandwidth,
        by the leave-one-out errors on up to 1,000 rows in closed form.
    block_size : int, default=2048
        b, the features of a block. Where features are made anew, a block is at least one that the map makes at a time.
    max_epochs : int, default=100
        The most passes over all blocks.
    tol : float, default=1e-4
        Stop after a pass in which the gradients of the blocks, each before its step, were this share of those of zero.
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the features, and the orders of the blocks. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; the systems of equations are solved in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the training points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features_out)
    transformer_ : FeatureMapTransformer
        The fitted features.
    n_iter_ : int
        Passes.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the ridge, the number of blocks and the share of the
        gradient that was left in the last pass; ``selection`` tells by which errors bandwidth and ridge were chosen.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310.
    """

    @stores_parameters
    def __init__(
        self,
        features: Any = "fourier",
        *,
        features_params: Mapping[str, Any] | None = None,
        regularisation: float | str = "auto",
        block_size: int = 2048,
        max_epochs: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...
