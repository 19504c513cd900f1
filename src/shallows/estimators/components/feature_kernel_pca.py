"""Kernel PCA on a fixed number of explicit features, by one of four rules that take the data batch by batch."""

from dataclasses import replace
from typing import Any, ClassVar

from sklearn.utils.metaestimators import available_if

from ... import training
from ...errors import ShallowsError
from ...fitting.feature_components import PrincipalFeatures, fit_feature_components
from ...fitting.fit_call import FitCall
from ...fitting.machine import Options, Phases
from ...fitting.stream_training import Batch
from ...solvers import settings
from ...solvers.feature_components import SOLVERS
from ...solvers.feature_components.problem import FeaturePCAState
from ..constructors import stores_parameters
from ..feature_maps import specification
from .component_estimator import ComponentEstimator


def _takes_streams(model: Any) -> bool:
    return settings.has_online_solver(model.solver, SOLVERS)


class FeatureKernelPCA(ComponentEstimator):
    """Kernel PCA on explicit features of a kernel, for data whose kernel matrix does not fit into memory.

    The components are the directions with the most variance of Nyström features of any kernel, or of random Fourier
    features. A solver finds them batch by batch, starting from the components of 2,000 rows. Data may be a stream
    (`partial_fit`). The features limit the accuracy: with all points as landmarks, "vr_pca" gives kernel PCA itself.
    "feature_oja" does not quite, because its steps are taken on single batches.

    Parameters
    ----------
    n_components : int, default=2
        k.
    features : str or transformer, default="nystrom"
        The map, such as "nystrom", "fourier" or ``NystroemFeatures(kernel="laplace", n_features=2000)``. It has the
        kernel and its bandwidth. Landmarks are training points (of a stream, first rows), at most one for each.
    center : bool, default=True
        Center the features, as `sklearn.decomposition.KernelPCA` does.
    solver : str or Settings, default="feature_oja"
        "feature_oja", "vr_pca" (less noise; not for streams), "noisy_power_method", "matrix_stochastic_gradient", or
        an object of `shallows.solvers`, such as ``FeatureOja(batch_size=64)``.
    random_state : int, RandomState or None, default=None
    options : shallows.Options, optional
        Device, memory, precision, time limit and progress bar, also for the features. If the features of the training
        rows do not fit into the memory, each batch computes them again.

    Attributes
    ----------
    eigenvalues_ : ndarray, shape (n_components,)
        Of the features' covariance, descending: near those of the kernel matrix divided by the number of rows.
    dual_coef_ : ndarray, shape (n_features_out, n_components), orthonormal
    transformer_ : FeatureMapTransformer
    bandwidth_ : float or None
    losses_ : list of float, the share of the features' variance in the components, for each epoch
    report_ : dict

    See Also
    --------
    DoublyStochasticKernelPCA : With a number of features that grows, which has no such limit.
    sklearn.decomposition.KernelPCA : Exact, for a few thousand rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.decomposition import FeatureKernelPCA
    >>> from shallows.kernel_approximation import NystroemFeatures
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = FeatureKernelPCA(3, features=NystroemFeatures("laplace", n_features=300), random_state=0)
    >>> model.fit_transform(X).shape
    (1797, 3)
    >>> model.set_params(features__n_features=500, solver="vr_pca", solver__max_epochs=2).fit_transform(X).shape
    (1797, 3)
    """

    _named: ClassVar = {"features": specification.TRANSFORMERS, "solver": SOLVERS}

    @stores_parameters
    def __init__(
        self,
        n_components: int = 2,
        *,
        features: Any = "nystrom",
        center: bool = True,
        solver: Any = "feature_oja",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Store the parameters, which the docstring of the class describes."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        specification.check(self.features, type(self).__name__)
        transformer = specification.transformer_of(self.features)
        if transformer._map_name is None:
            raise ShallowsError(
                f"FeatureKernelPCA cannot use {type(transformer).__name__}, which learns from targets. Put it into a "
                "pipeline before sklearn.decomposition.PCA."
            )

    def _view_kernels(self) -> list[Any]:
        return []  # The features have the kernel.

    def _train(self, views: Batch, call: FitCall) -> tuple[PrincipalFeatures, training.Run, dict[str, float]]:
        phases, dtype = Phases(), call.options.precision(views[0].shape[0])
        of_features = replace(self.options or Options(), dtype=dtype.name)
        transformer = specification.transformer_of(self.features, call.seed, of_features).fit(views[0])
        if transformer._blocks.is_sparse:
            raise ShallowsError(
                f"FeatureKernelPCA needs features with dense rows, and the rows of {type(transformer).__name__} are "
                "sparse. Take other features, or a pipeline with sklearn.decomposition.TruncatedSVD."
            )
        found = fit_feature_components(
            views[0],
            blocks=transformer._blocks,
            centering=transformer._centering,
            n_components=self.n_components,
            centered=bool(self.center),
            solver=self._settings(),
            chosen={
                **transformer.report_,
                "features": transformer._map_name,
                "solver": settings.name_of(self._settings(), SOLVERS),
            },
            call=call,
            phases=phases,
        )
        self.transformer_, self.bandwidth_ = transformer, transformer.bandwidth_
        return found

    partial_fit = available_if(_takes_streams)(ComponentEstimator.partial_fit)

    def _describe(self, model: PrincipalFeatures, state: FeaturePCAState) -> None:
        self.eigenvalues_ = model.functions.eigenvalues
