"""Features as a parameter of an estimator: a name, a transformer that says which features, or a map of the user."""

from typing import Any

from sklearn.base import clone

from ... import kernels
from ...errors import ShallowsError, UnknownNameError
from ...features import FEATURE_MAPS, MapRequest
from ...fitting.machine import Options
from ...utils.lazy_tables import LazyTable
from .base import FeatureMapTransformer

TRANSFORMERS: LazyTable = LazyTable(
    "feature map",
    "shallows.estimators.feature_maps",
    {
        "fourier": ".fourier:FourierFeatures",
        "fourier_cosine": ".fourier:with_phases",
        "orthogonal": ".fourier:with_orthogonal_frequencies",
        "fastfood": ".fastfood:Fastfood",
        "quasi_monte_carlo": ".quasi_monte_carlo:QuasiMonteCarloFeatures",
        "binning": ".random_binning:RandomBinning",
        "nystrom": ".landmarks:NystroemFeatures",
        "nystrom_kmeans": ".landmarks:nystroem_at_means",
        "nystrom_leverage": ".landmarks:nystroem_by_leverage",
        "nystrom_pivoted": ".landmarks:nystroem_at_pivots",
        "nystrom_randomly_pivoted": ".landmarks:nystroem_at_random_pivots",
        "rbf": ".landmarks:RBFNetwork",
        "rbf_kmeans": ".landmarks:network_at_means",
        "polynomial": ".polynomial:PolynomialFeatures",
        "tensor_sketch": ".polynomial:TensorSketch",
        "hidden_units": ".random_units:HiddenUnits",
        "semi_random": ".random_units:SemiRandomFeatures",
    },
)
"""The transformer of each name, without arguments: ``TRANSFORMERS["orthogonal"]()``."""

KERNEL, BANDWIDTH = "gaussian", "auto"
"""The defaults of estimators that have features next to a kernel and a bandwidth."""


def check(features: Any, estimator: str, *, own_maps: bool = False) -> None:
    """Refuse what is no feature map.

    Parameters
    ----------
    features : str, transformer or map
    estimator : str
        Its name, for messages.
    own_maps : bool, default=False
        Whether the estimator trains on a map: it also accepts maps without a transformer, such as "linear", and maps of
        the user.
    """
    if isinstance(features, str):
        known = {*TRANSFORMERS, *(FEATURE_MAPS if own_maps else ())}
        if features not in known:
            raise UnknownNameError("feature map", features, sorted(known))
    elif isinstance(features, type):
        raise ShallowsError(f"features={features.__name__} is a class. Give an object: {features.__name__}().")
    elif isinstance(features, FeatureMapTransformer):
        features._check_parameters()
        if own_maps and features._map_name is None:
            raise ShallowsError(
                f"{estimator} cannot train on {type(features).__name__}, which learns from the data. Put it into a "
                "pipeline before the estimator."
            )
    elif not own_maps:
        raise ShallowsError(
            f"features must be a name, such as 'fourier', or a transformer, such as FourierFeatures(n_features=500); "
            f"got {type(features).__name__}."
        )
    elif not (callable(getattr(features, "map", None)) and hasattr(features, "n_features")):
        raise ShallowsError(
            "features must be a name, such as 'fourier', a transformer, such as FourierFeatures(n_features=500), or an "
            f"object with a method map(x) and a number n_features; got {type(features).__name__}."
        )


def transformer_of(features: Any, seed: int | None = None, options: Options | None = None) -> FeatureMapTransformer:
    """An unfitted transformer for a name or a transformer, which is cloned, with a seed and options.

    A ``bandwidth`` or ``n_features`` of "auto" remains, so that the estimator can choose it.
    """
    found = TRANSFORMERS[features]() if isinstance(features, str) else clone(features)
    found._warns_of_units = False  # The estimator warns.
    return found if seed is None else found._with_machine(seed, options or Options())


def searches_bandwidth(transformer: FeatureMapTransformer) -> bool:
    """Whether an estimator chooses the bandwidth of a transformer."""
    return _is_name(transformer.bandwidth, BANDWIDTH) and transformer._make_kernel().is_open


def kernel_of(features: Any) -> kernels.Kernel | None:
    """The kernel of the features of a name or a transformer, None for others."""
    if not (isinstance(features, FeatureMapTransformer) or (isinstance(features, str) and features in TRANSFORMERS)):
        return None
    found = transformer_of(features)
    return found._make_kernel() if "kernel" in found.get_params(deep=False) else None


def map_request(features: Any, estimator: str, kernel: Any = KERNEL, bandwidth: Any = BANDWIDTH) -> MapRequest:
    """The map of a name, of a transformer or of the user.

    Parameters
    ----------
    features : str, transformer, map or None
    estimator : str
        Its name, for messages.
    kernel, bandwidth
        Parameters of the estimator, if it has them. A transformer with its defaults takes them.

    Raises
    ------
    ShallowsError
        If there is no such map, or estimator and transformer both have a kernel or bandwidth.
    """
    if features is not None:
        check(features, estimator, own_maps=True)
    if not (isinstance(features, FeatureMapTransformer) or (isinstance(features, str) and features in TRANSFORMERS)):
        return MapRequest(features, kernels.make(kernel, bandwidth), _is_name(bandwidth, BANDWIDTH))
    found = transformer_of(features)
    own, chosen = found.get_params(deep=False), {}
    for name, value, default in (("kernel", kernel, KERNEL), ("bandwidth", bandwidth, BANDWIDTH)):
        if _is_name(value, default):
            continue
        of_map = found._make_kernel().bandwidth if name == "bandwidth" else None
        of_map = getattr(found, name) if of_map is None else of_map
        if not (isinstance(features, str) or (name in own and _is_name(of_map, default))):
            raise ShallowsError(
                f"{type(found).__name__} has its own {name}, {of_map!r}, and {name}={value!r} of "
                f"{estimator} would be ignored. Give only one of them."
            )
        chosen[name] = value
    width, made = chosen.get("bandwidth", found.bandwidth), found._make_kernel()
    if chosen:
        made = kernels.make(chosen.get("kernel", found.kernel), width)
    searches = width is None or _is_name(width, BANDWIDTH)
    given = found._map_name, made, searches, found._size, found._map_parameters
    return MapRequest(*given, grows=found._grows, near_kernel=found._near_kernel)


def _is_name(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name
