"""The base class of the transformers: the choice of the kernel, the fit of a map, and the features of new points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ... import arrays, kernels, streams, training
from ...errors import UnknownNameError
from ...features import Blocks, FeatureMap
from ...features.fourier import COLUMNS_OF_FREQUENCY, MOST_FREQUENCIES
from ...fitting.checks import check_median_bandwidth, check_whole
from ...kernels import Kernel, precomputed
from ...models.centring import Centring, check_scale, check_scores
from ..base import Estimator
from ..inputs import follows_input
from ..parameters import stores_parameters, with_parameters

SAMPLE = 1000
"""Points from which the median rule takes the bandwidth, and on which the kernel is checked."""

STRIP_BYTES = 2**27
"""Features that are made at a time in a product with one block; more is no faster."""


class FeatureMapTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of the transformers of points to explicit features of a kernel.

    A subclass defines `_make_map`. One that takes no kernel writes out its own constructor, and has ``kernel``,
    ``kernel_params`` and ``n_features`` as attributes.
    """

    _takes_targets = False

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        n_features: int = 1000,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
    ): ...

    # ------------------------------------------------------------------- what a subclass must or may define

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> FeatureMap:
        """The map of a kernel, from training points where it needs them; its arrays may lie on the device."""
        raise NotImplementedError

    _of_landmarks = False
    """Whether features are kernel values, so that sparse points stay sparse."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_median_bandwidth(self, "bandwidth")
        check_whole(self, "n_features")
        precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)

    # --------------------------------------------------------------------------------------- the fit

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the kernel's bandwidth and what the map takes from the training points.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
            Memory maps are read block by block.
        y : None
            Not used; here so that the transformer stands in a pipeline.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, or no table of numbers.
        ShallowsError
            A parameter out of its range, or a kernel that has no such features.
        """
        return self._fit(X, self._make_map)

    def _fit(self, X: Any, make_map: Callable[..., FeatureMap]) -> Self:
        """Fit with the map that a function makes of the points, kernel, seed, device and memory budget."""
        self._check_parameters()
        X = self._validated_training_set(X, None, None).X
        device, seed = self._fit_device(), self._seed()
        self._options().warn_of_too_little_memory(device)
        self._dtype = np.dtype(X.dtype if self.dtype == "auto" else self.dtype)
        kind = kernels.kind(self.kernel)
        kind.check_inputs(X.shape[1])
        self._centring = Centring.of(
            X,
            centred=kind.shift_invariant,
            without_constants=False,
            may_stay_sparse=self._of_landmarks and kind.takes_sparse_points,
        )
        budget = self._working_budget(device)
        with device.active():
            rows = streams.permutation(seed, "median bandwidth", 0, X.shape[0])[:SAMPLE]
            sample = self._centring.training_points(X, rows, device, self._dtype)
            check_scale(sample, self._dtype, may_vanish=self._centring.all_equal or not kind.shift_invariant)
            bandwidth = None if self.bandwidth == "median" else self.bandwidth
            kernel = kernels.choose(
                self.kernel, bandwidth, self.kernel_params, sample, seed, all_equal=self._centring.all_equal
            )
            made = make_map(X, kernel, seed, device, budget)
            self._blocks = Blocks(made, self._n_columns(made)).to(arrays.Device("cpu"))
        self.bandwidth_ = kernel.bandwidth
        self.effective_params_ = {
            "kernel": kernel.name,
            "bandwidth": kernel.bandwidth,
            "n_features": self._blocks.n_features,
            "memory_budget": budget,
            "precision": self._dtype.name,
            "device": str(device),
            "seed": seed,
        }
        return self

    def _n_columns(self, made: FeatureMap) -> int | None:
        """How many columns of the map are used; None is all of them."""
        return self.n_features if made.streamed else None

    # ---------------------------------------------------------------------------------- the features

    @follows_input
    def transform(self, X: Any) -> np.ndarray:
        """Features of points.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_features_out)
            In the precision of the fit. For maps of a kernel the inner product of two rows approximates the kernel of
            their points; random units and networks have no such kernel.
        """
        X = self._validated(X)
        device = arrays.resolve_device(self.device)
        blocks = self._blocks.to(device)
        widest = max(span.stop - span.start for span in blocks.spans)
        budget = min(self._working_budget(device) // 4, STRIP_BYTES)
        at_a_time = max(1, budget // (widest * self._dtype.itemsize))
        n, room = X.shape[0], arrays.available_memory()
        needed, remedy = n * blocks.n_features * self._dtype.itemsize, "Take fewer features or rows."
        arrays.check_room(f"{n:,} rows of {blocks.n_features:,} features take", needed, room, remedy)
        out = np.empty((n, blocks.n_features), dtype=self._dtype)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, _ in self._centring.new_points(X, device, self._dtype):
                for some in arrays.blocks(x.shape[0], at_a_time):
                    here = slice(rows.start + some.start, rows.start + some.stop)
                    for k, span in enumerate(blocks.spans):
                        out[here, span] = arrays.to_numpy(blocks.block(x[some, :], k))
        check_scores(out, X)
        return out

    @property
    def feature_map_(self) -> FeatureMap:
        """The map of `shallows.features`; it takes centred points."""
        return self._blocks.features

    @property
    def _n_features_out(self) -> int:
        return self._blocks.n_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = (
            ["float64", "float32"] if self.dtype == "auto" else []  # else it is the one that was asked for
        )
        return tags


class FourierTransformer(FeatureMapTransformer):
    """Base of transformers whose features are blocks of cosines and sines, made by the class `_map`."""

    __init__ = with_parameters(FeatureMapTransformer.__init__, form="pair")

    _map: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        UnknownNameError.check("form", self.form, ("pair", "cosine"))

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> FeatureMap:
        # The map reads the number of inputs of the points, and no more.
        block = -(-self.n_features // COLUMNS_OF_FREQUENCY[self.form])
        size, cache = min(MOST_FREQUENCIES, block), max(2**20, budget // 8)
        return self._map(kernel, X.shape[1], size, seed, form=self.form, cache_bytes=cache)


class LandmarkTransformer(FeatureMapTransformer):
    """Base of transformers whose features are kernel values with landmarks."""

    __init__ = with_parameters(FeatureMapTransformer.__init__, landmarks="sample")

    _of_landmarks = True
    _ways: ClassVar[Mapping[str, Any]]
    """What makes the map, by the way to choose landmarks."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        UnknownNameError.check("way to choose landmarks", self.landmarks, self._ways)

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> FeatureMap:
        order = np.arange(X.shape[0])
        if self.landmarks == "sample":
            # Of the points, only those that may be landmarks are brought to the device.
            order = streams.permutation(seed, "landmarks", 0, X.shape[0])[: self.n_features]
        points = self._centring.training_points(X, order, device, self._dtype)[:, :-2]
        return self._ways[self.landmarks](kernel, points, self.n_features, seed, budget)
