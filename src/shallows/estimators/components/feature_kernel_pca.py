"""Kernel PCA on a fixed number of explicit features, by one of four rules that take the data batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ... import kernels, training
from ...errors import UnknownNameError
from ...fitting.feature_components import PrincipalFeatures, fit_feature_components
from ...fitting.machine import Phases
from ...fitting.stream_training import Batch
from ...solvers import settings
from ...solvers.feature_components import SOLVERS
from ...solvers.feature_components.problem import FeaturePCASettings, FeaturePCAState
from ...utils.checks import check_choice
from ...utils.lazy_tables import LazyTable
from ..constructors import stores_parameters
from ..feature_maps.base import FeatureMapTransformer, kernel_object
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
            f"partial_fit needs a solver that uses each row once ({able}). solver={model.solver!r} visits them "
            "again and again."
        )
    return True


class FeatureKernelPCA(ComponentEstimator):
    """Kernel PCA on explicit features of a kernel, for data whose kernel matrix does not fit into memory.

    The components are the directions with the most variance of Nyström features of any kernel, or of random Fourier
    features. A solver finds them batch by batch, starting from the components of 2,000 rows. Data may be a stream
    (`partial_fit`). The features limit the accuracy; with all points as landmarks the result is kernel PCA itself. The
    functions of `DoublyStochasticKernelPCA` have no such limit.

    Parameters
    ----------
    n_components : int, default=2
        k.
    kernel : str, Kernel or callable, default="gaussian"
        A name or object of `shallows.kernels`, or a function of two arrays. "fourier" needs a shift-invariant kernel.
    bandwidth : float, "median" or None, default=None
        σ, in the units of X. "median" and None: the median distance of a subsample; a stream uses its first rows.
    kernel_params : dict, optional
        Parameters of the kernel, such as ``{"nu": 1.5}``.
    features : {"nystrom", "fourier"}, default="nystrom"
        The map. The landmarks of "nystrom" are sampled training points (of a stream, first rows).
    n_features : int, default=1000
        D, the number of features. There is at most one landmark for each training point.
    center : bool, default=True
        Center the features, as `sklearn.decomposition.KernelPCA` does.
    solver : {"oja", "vr", "power", "msg"}, default="oja"
        Oja's rule, VR-PCA (less noise; not for streams), the noisy power method, or matrix stochastic gradient.
    solver_params : dict, optional
        "oja": step_size, decrease; "vr": step_size, period; "power": rows; "msg": step_size, rank. See the guide.
    batch_size : int, optional
        Rows of a step. None: 256, or 64 for "msg". Smaller batches of a stream wait for more rows.
    n_iter, max_epochs : int, optional
        Most steps and passes. If both are None: three passes ("power": ten), and at least 200 steps.
    max_seconds : float, optional
        Time limit of the training.
    random_state : int, RandomState or None, default=None
        Seed of all random draws. An int gives the same model every time.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" uses a GPU if CuPy finds one.
    memory : int or str, optional
        Memory limit of the process, in bytes or as "4GB". None: a share of the free memory. Features of the training
        rows are kept if they fit; otherwise each batch computes them again.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision. "auto": float32, or float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    eigenvalues_ : ndarray, shape (n_components,)
        Of the features' covariance, descending: near those of the kernel matrix divided by the number of rows.
    dual_coef_ : ndarray, shape (n_features_out, n_components)
        Orthonormal coefficients of the features.
    transformer_ : FeatureMapTransformer
        The fitted features.
    bandwidth_ : float or None
    losses_ : list of float
        Share of the features' variance in the components, for each epoch.
    effective_params_ : dict
        Chosen and estimated values.

    References
    ----------
    oja: E. Oja (1982), "A simplified neuron model as a principal component analyzer", Journal of Mathematical
    Biology 15. vr: O. Shamir (2015), "A stochastic PCA and SVD algorithm with an exponential convergence rate", ICML
    32. power: M. Hardt and E. Price (2014), "The noisy power method: a meta algorithm with applications", NIPS 27. msg:
    R. Arora, A. Cotter and N. Srebro (2013), "Stochastic optimization of PCA with capped MSG", NIPS 26.
    """

    step_size = None  # It is in ``solver_params``.

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
    ):
        """Store the parameters, which the docstring of the class describes."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, features=tuple(MAPS))
        UnknownNameError.check("solver", self.solver, SOLVERS)
        self._settings()

    def _train(
        self, views: Batch, seed: int, max_seconds: float | None = None, observers: Any = (), checkpoint: Any = None
    ) -> tuple[PrincipalFeatures, training.Run, dict[str, float]]:
        phases, options, dtype = Phases(), self._options(), self._options().precision(views[0].shape[0])
        transformer = self._transformer(seed, dtype).fit(views[0])
        found = fit_feature_components(
            views[0],
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
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        kernel, width = kernel_object(self.kernel, self.bandwidth, self.kernel_params)
        transformer = MAPS[self.features](kernel, bandwidth=width, n_features=self.n_features)
        transformer._with_machine(seed, replace(self._options(), dtype=dtype.name))
        transformer._warns_of_units = False  # This estimator warns.
        return transformer

    def _settings(self) -> FeaturePCASettings:
        """The settings of the solver."""
        shared = {"batch_size": self.batch_size, "n_iter": self.n_iter, "max_epochs": self.max_epochs}
        return settings.make(SOLVERS, self.solver, self.solver_params, **shared)

    partial_fit = available_if(_takes_streams)(ComponentEstimator.partial_fit)

    def _describe(self, model: PrincipalFeatures, state: FeaturePCAState) -> None:
        self.eigenvalues_ = model.functions.eigenvalues
