"""The worked example of a feature map as a transformer: random rectified linear units."""

from typing import Any

from shallows import Options
from shallows.estimators.constructors import stores_parameters
from shallows.estimators.feature_maps.base import FeatureMapTransformer
from shallows.features.rectified_units import rectified_units


class RectifiedUnitFeatures(FeatureMapTransformer):
    """√(2/D) max(0, W[x/σ, 1]) with normal weights W: inner products of rows approximate an arc-cosine kernel.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.rectified_units.RectifiedUnits
    report_ : dict

    References
    ----------
    Y. Cho and L. K. Saul (2009), "Kernel methods for deep learning", NIPS 22.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import RectifiedUnitFeatures
    >>> RectifiedUnitFeatures(n_features=50, random_state=0).fit_transform(load_digits().data).shape
    (1797, 50)
    """

    # For the median rule and for centered points; units have no kernel.
    kernel = "gaussian"
    _map, _map_name = staticmethod(rectified_units), "rectified_units"

    @stores_parameters
    def __init__(
        self,
        *,
        bandwidth: float | str = "auto",
        n_features: int | str = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "median": the median distance. "auto": an estimator's choice; alone, as "median".
        n_features : int or "auto", default="auto"
            Columns of the result. "auto": an estimator with these features chooses it; alone, 1,000.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """
