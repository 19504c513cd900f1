"""Kernel PCA on a fixed number of explicit features, by one of four rules that take the data batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from ... import training
from ...errors import UnknownNameError
from ...fitting.checks import check_choice
from ...fitting.feature_components import PrincipalFeatures, fit_feature_components
from ...fitting.machine import Phases
from ...fitting.stream_training import Batch
from ...solvers import settings
from ...solvers.feature_components import SOLVERS
from ...solvers.feature_components.problem import FeaturePCASettings, FeaturePCAState
from ...utils.lazy_tables import LazyTable
from ..constructors import stores_parameters
from ..feature_maps.base import FeatureMapTransformer
from ..input_checks import read_points
from .component_estimator import ComponentEstimator

MAPS = LazyTable(
    "feature map",
    "shallows.estimators.feature_maps",
    {"fourier": ".fourier:FourierFeatures", "nystrom": ".landmarks:NystroemFeatures"},
)
"""The transformers by the names of their maps."""


def _takes_streams(model: Any) -> bool:
    if model.solver in SOLVERS and not SOLVERS[model.solver].streams:
        able = ", ".join(repr(name) for name, solver in SOLVERS.items() if solver.streams)
        raise AttributeError(
            f"partial_fit needs a solver that sees rows once ({able}), and solver={model.solver!r} goes over all rows "
            "again and again."
        )
    return True


class FeatureKernelPCA(ComponentEstimator):
    """Kernel PCA on explicit features of a kernel, for data whose kernel matrix does not fit into memory.

    The components are the directions of most variance of Nyström features of any kernel, or of random Fourier features.
    They are found batch by batch by one of four rules, from the components of 2,000 rows on; data may stream past
    (`partial_fit`). With all points as landmarks it is kernel PCA itself, and with fewer the features bound what is
    found. The functions of `DoublyStochasticKernelPCA` gain features, and have no such bound.

    Parameters
    ----------
    n_components : int, default=2
        k.
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; or a function of two arrays of
        points that returns the matrix of values. "fourier" takes those of the difference of two points.
    bandwidth : float, "median" or None, default=None
        σ, in the units of the features. "median" and None take the median distance of a subsample (of the first rows of
        a stream).
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``.
    features : {"nystrom", "fourier"}, default="nystrom"
        The map. "nystrom" has sampled training points as landmarks, of a stream among its first rows.
    n_features : int, default=1000
        D, the number of features; of landmarks at most one for each training point.
    center : bool, default=True
        Whether the features are centred, as `sklearn.decomposition.KernelPCA` does.
    solver : {"oja", "vr", "power", "msg"}, default="oja"
        How the components are found.

        - "oja": Oja's rule, whose error falls as one over the rows seen.
        - "vr": VR-PCA, the same with a product of the whole covariance now and then, so that the noise of a batch
          vanishes near the solution and the error falls by a factor an epoch. Not for streams.
        - "power": the noisy power method, a power iteration on the covariance of a block of rows.
        - "msg": matrix stochastic gradient, steps among matrices between 0 and the identity, of bounded rank.
    solver_params : dict, optional
        Parameters of the solver, by name.

        - "oja": ``step_size`` η₁ (None: half of 1/λ_k, of the last eigenvalue) and ``decrease`` ρ in the steps
          η₁ / (1 + ρ (t − 1)) (None: they tend to c/t with c twice the inverse of the gap after the last component).
        - "vr": ``step_size`` (None: half of 1/λ_k), and ``period`` (1.0), the passes between two products with the
          whole covariance, each of which costs a pass that is not counted.
        - "power": ``rows`` of a block (None: all of a fit, and of a stream as many as it begins with).
        - "msg": ``step_size`` η₁ in the steps η₁/√t (None: half of 1/λ_k), and ``rank`` (None: k + 1), more than k.
    batch_size : int, optional
        The rows of a step. None takes 256 ("msg": 64). The batches of a stream are used as they come, if they have as
        many.
    n_iter, max_epochs : int, optional
        The most steps and the most passes over the data. If both are None, three passes ("power": ten) and at least 200
        steps.
    max_seconds : float, optional
        The most seconds of training.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: random features, the order of the rows and of the blocks. The same int gives
        the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free. Features of the
        training rows are kept where they fit, and else made for each batch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    eigenvalues_ : ndarray, shape (n_components,)
        Of the covariance of the features, descending. Those of the kernel matrix divided by the number of points are
        near; `sklearn.decomposition.KernelPCA` has them without the division.
    dual_coef_ : ndarray, shape (n_features_out, n_components)
        Orthonormal coefficients of the features.
    transformer_ : FeatureMapTransformer
        The fitted features.
    bandwidth_ : float or None
    losses_ : list of float
        The share of the features' variance that the components held, for each epoch.
    effective_params_ : dict
        What was chosen and estimated.

    References
    ----------
    oja: E. Oja (1982), "A simplified neuron model as a principal component analyzer", Journal of Mathematical
    Biology 15. vr: O. Shamir (2015), "A stochastic PCA and SVD algorithm with an exponential convergence rate", ICML
    32. power: M. Hardt and E. Price (2014), "The noisy power method: a meta algorithm with applications", NIPS 27. msg:
    R. Arora, A. Cotter and N. Srebro (2013), "Stochastic optimization of PCA with capped MSG", NIPS 26.
    """

    step_size = None  # Solvers that have one have it among their parameters.

    @stores_parameters
    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "gaussian",
        bandwidth: float | str | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        features: str = "nystrom",
        n_features: int = 1000,
        center: bool = True,
        solver: str = "oja",
        solver_params: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        n_iter: int | None = None,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    # ------------------------------------------------------------------------------------ the parts of a fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, features=tuple(MAPS))
        UnknownNameError.check("solver", self.solver, SOLVERS)
        self._settings()

    def _validated_views(self, *views: Any, first: bool, least: int = 2) -> Batch:
        least = least if self.center else 1  # Deviations from a mean need two rows.
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_min_samples": least}
        return (validate_data(self, read_points(views[0]), reset=first, **options),)

    def _train(
        self,
        rows: Batch,
        seed: int,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
        max_seconds: float | None = None,
    ) -> tuple[PrincipalFeatures, training.Run, dict[str, float]]:
        phases, options, dtype = Phases(), self._options(), self._options().precision(rows[0].shape[0])
        transformer = self._transformer(seed, dtype).fit(rows[0])
        found = fit_feature_components(
            rows[0],
            blocks=transformer._blocks,
            centring=transformer._centring,
            n_components=self.n_components,
            centred=bool(self.center),
            solver=self._settings(),
            chosen={**transformer.effective_params_, "features": self.features, "solver": self.solver},
            seed=seed,
            options=options,
            max_seconds=max_seconds,
            observers=observers,
            checkpoint=checkpoint,
            phases=phases,
        )
        self.transformer_, self.bandwidth_ = transformer, transformer.bandwidth_
        return found

    def _transformer(self, seed: int, dtype: np.dtype) -> FeatureMapTransformer:
        """The map of the features, not yet fitted."""
        transformer = MAPS[self.features](
            self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_features=self.n_features,
            random_state=seed,
            device=self.device,
            memory=self.memory,
            dtype=dtype.name,
        )
        transformer._warns_of_units = False  # This estimator warns.
        return transformer

    def _settings(self) -> FeaturePCASettings:
        """The settings of the solver."""
        shared = {"batch_size": self.batch_size, "n_iter": self.n_iter, "max_epochs": self.max_epochs}
        return settings.make(SOLVERS, self.solver, self.solver_params, **shared)

    partial_fit = available_if(_takes_streams)(ComponentEstimator.partial_fit)

    def _describe(self, model: PrincipalFeatures, state: FeaturePCAState) -> None:
        self.eigenvalues_ = model.functions.eigenvalues
