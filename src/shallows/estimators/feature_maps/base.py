"""The base class of the transformers: the choice of the kernel, the fit of a map, and the features of new points."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ... import arrays, kernels, streams
from ...arrays.user_arrays import follows_input
from ...errors import ShallowsError
from ...features import Blocks, FeatureMap
from ...fitting.machine import Options
from ...kernels import Kernel, precomputed
from ...models.centering import Centering, check_scale, check_scores
from ...utils.checks import check_whole, is_number
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters

N_FEATURES = 1000
"""Number of features of a transformer with ``n_features="auto"``."""

SAMPLE = 1000
"""Points for the median rule and the check of the kernel."""

STRIP_BYTES = 2**27
"""Bytes of features that are computed at a time from one block. More is not faster."""


class FeatureMapTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of the transformers of points to explicit features of a kernel.

    A subclass sets `_map` and `_map_name`, and the other attributes that apply. Its docstring lists the attributes of
    a fit. It has a constructor only if it has further parameters; `Fastfood` is a short example.

    A subclass without a parameter for the kernel has its own constructor, and ``kernel`` and ``n_features`` as
    attributes.
    """

    _takes_targets = False
    _of_landmarks = False
    """Whether features are kernel values, so that sparse points stay sparse."""
    _map_name: str | None = None
    """The key of the same map in `shallows.features.FEATURE_MAPS`."""

    _grows = False
    """Whether ``n_features="auto"`` means more features for more rows."""
    _near_kernel = False
    """Whether products of features are so near to kernel values that λ is chosen with the kernel, which is faster."""

    _map: Callable[..., FeatureMap]
    """The function of `shallows.features` that makes the map."""

    @property
    def _map_parameters(self) -> dict[str, Any]:
        """Further arguments of the function in `shallows.features.FEATURE_MAPS`."""
        return {}

    @property
    def _map_options(self) -> dict[str, Any]:
        """Further arguments of `_map`."""
        return self._map_parameters

    def _make_kernel(self) -> Kernel:
        """The kernel, which is open if its bandwidth is not given."""
        return kernels.make(self.kernel, self.bandwidth)

    @property
    def _n_columns(self) -> int:
        return N_FEATURES if isinstance(self.n_features, str) else self.n_features

    @property
    def _size(self) -> int | None:
        """The number of features for a training on the map; None: an estimator with these features chooses it."""
        return None if isinstance(self.n_features, str) else int(self.n_features)

    def _with_machine(self, seed: int, options: Options) -> Self:
        """The same transformer with the seed and the options of the estimator that contains it."""
        known, given = self.get_params(deep=False), {"random_state": seed, "options": options}
        return self.set_params(**{name: value for name, value in given.items() if name in known})

    def _move_to(self, device: Any) -> None:
        options = self.options or Options()
        if options.device != device:
            self.set_params(options=replace(options, device=device))

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str = "auto",
        n_features: int | str = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Choose the kernel and the size of the map.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, such as ``Matern(nu=2.5)``. Nyström features and networks also
            accept a function of two arrays.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "median": the median distance. "auto": an estimator's choice; alone, as "median".
        n_features : int or "auto", default="auto"
            Columns of the result. Nyström features leave out directions at the level of rounding, and pairs of a sine
            and a cosine take the next even number. "auto": an estimator with these features chooses it; alone, 1,000.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> FeatureMap:
        """The map of a kernel, from training points if it needs them; its arrays may be on the device."""
        points = self._points_of_map(X, seed, device)
        return self._map(kernel, points, self._n_columns, seed, budget, **self._map_options)

    def _points_of_map(self, X: Any, seed: int, device: arrays.Device) -> Any:
        """The training points that the map is made of; most maps use only their number of inputs."""
        return X

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.n_features, str) and self.n_features == "auto"):
            check_whole(self, "n_features")
        if is_number(self.kernel):
            raise ShallowsError(
                f"The first parameter is the kernel, got {self.kernel!r}. For a number of features write "
                f"{type(self).__name__}(n_features={self.kernel!r})."
            )
        precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")
        self._make_kernel()

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the kernel's bandwidth and make the map.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
            Memory maps are read block by block.
        y : None
            Not used; for pipelines.

        Raises
        ------
        ValueError, ShallowsError
            X has NaN or infinity or is not a table of numbers, a parameter is out of its range, or the kernel has no
            such features.
        """
        return self._fit(X, self._make_map)

    def _fit(self, X: Any, make_map: Callable[..., FeatureMap]) -> Self:
        """Fit with the map that a function makes of the points, kernel, seed, device and memory budget."""
        self._check_parameters()
        X = self._validated_training_set(X, None, None).X
        device, seed = self._fit_device(), self._seed()
        options = self._options()
        options.warn_of_too_little_memory(device)
        self._dtype = np.dtype(X.dtype if options.dtype == "auto" else options.dtype)
        kernel = self._make_kernel()
        kernel.check_inputs(X.shape[1])
        self._centering = Centering.of(
            X,
            centered=kernel.shift_invariant,
            without_constants=False,
            may_stay_sparse=self._of_landmarks and kernel.takes_sparse_points,
        )
        budget = self._options().budget(device)
        with device.active():
            rows = streams.permutation(seed, "median bandwidth", 0, X.shape[0])[:SAMPLE]
            sample = self._centering.training_points(X, rows, device, self._dtype)
            check_scale(sample, self._dtype, may_vanish=self._centering.all_equal or not kernel.shift_invariant)
            kernel = kernels.choose(kernel, sample, seed, all_equal=self._centering.all_equal)
            feature_map = make_map(X, kernel, seed, device, budget)
            n_columns = self._n_columns if feature_map.streamed else None
            self._blocks = Blocks(feature_map, n_columns).to(arrays.Device("cpu"))
        self.bandwidth_ = kernel.bandwidth
        self.report_ = {
            "kernel": kernel.name,
            "bandwidth": kernel.bandwidth,
            "n_features": self._blocks.n_features,
            "memory_budget": budget,
            "precision": self._dtype.name,
            "device": str(device),
            "seed": seed,
        }
        return self

    @follows_input
    def transform(self, X: Any) -> np.ndarray:
        """Features of points, in the precision of the fit, shape (n_samples, n_features_out).

        For maps of a kernel, inner products of rows approximate the kernel of the points. X is an array or a CSR
        matrix, as in `fit`.
        """
        X = self._validated(X)
        device = arrays.resolve_device(self._options().device)
        blocks = self._blocks.to(device)
        widest = max(span.stop - span.start for span in blocks.spans)
        budget = min(self._options().budget(device) // 4, STRIP_BYTES)
        at_a_time = max(1, budget // (widest * self._dtype.itemsize))
        n, room = X.shape[0], arrays.available_memory()
        needed, remedy = n * blocks.n_features * self._dtype.itemsize, "Take fewer features or rows."
        arrays.check_room(f"{n:,} rows of {blocks.n_features:,} features take", needed, room, remedy)
        out = np.empty((n, blocks.n_features), dtype=self._dtype)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, _ in self._centering.new_points(X, device, self._dtype):
                for some in arrays.blocks(x.shape[0], at_a_time):
                    here = slice(rows.start + some.start, rows.start + some.stop)
                    for k, span in enumerate(blocks.spans):
                        out[here, span] = arrays.to_numpy(blocks.block(x[some, :], k))
        check_scores(out, X)
        return out

    @property
    def feature_map_(self) -> FeatureMap:
        """The map of `shallows.features`; it takes centered points."""
        return self._blocks.features

    @property
    def _n_features_out(self) -> int:
        return self._blocks.n_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = (
            ["float64", "float32"] if getattr(self.options, "dtype", "auto") == "auto" else []
        )
        return tags
