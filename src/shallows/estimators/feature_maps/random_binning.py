"""Random binning features, as a transformer."""

from typing import Any

import scipy.sparse

from ... import arrays
from ...features.binning import bins_of_grids
from ...fitting.machine import Options
from ...kernels.products import LaplaceProduct
from ...utils.checks import check_whole
from ..constructors import stores_parameters
from .base import FeatureMapTransformer


class RandomBinning(FeatureMapTransformer):
    """Random binning: sparse indicators of the cells of random grids, for the kernel exp(−‖x − z‖₁/σ).

    A row has one value 1/√n_grids for each grid, in the hashed column of the cell that contains the point. The inner
    product of two rows is the share of the grids in which the points are in one cell, which is the kernel on average.
    The result is a CSR matrix.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.RandomBinningMap
    report_ : dict

    References
    ----------
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", NIPS 20, section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import RandomBinning
    >>> RandomBinning(bandwidth=300.0, random_state=0).fit_transform(load_digits().data).shape
    (1797, 409600)
    """

    kernel = LaplaceProduct.name
    """The kernel that has grids."""

    @stores_parameters
    def __init__(
        self,
        *,
        bandwidth: float | str = "auto",
        n_grids: int = 100,
        n_bins: int = 4096,
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "median": the median distance. "auto": an estimator's choice; alone, as "median".
        n_grids : int, default=100
            P, the nonzeros of a row. The error decreases as 1/√P.
        n_bins : int, default=4096
            Columns of a grid, a power of two. Two cells of a grid share a column with probability 1/n_bins.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Memory and precision; dtype "auto" is the dtype of X. Sparse rows are made on a CPU.
        """

    @property
    def n_features(self) -> int:
        """Columns of the result."""
        return self.n_grids * self.n_bins

    def _fit_device(self) -> arrays.Device:
        return arrays.Device("cpu")

    def _check_parameters(self) -> None:
        check_whole(self, "n_grids", "n_bins")
        super()._check_parameters()

    _map, _map_name = staticmethod(bins_of_grids), "binning"

    @property
    def _map_parameters(self) -> dict[str, Any]:
        return {"n_grids": self.n_grids, "n_bins": self.n_bins}

    def transform(self, X: Any) -> Any:
        """Indicators of cells: a SciPy CSR matrix in the precision of the fit, also for points of another library."""
        X = self._validated(X)
        points = self._centering.new_points(X, arrays.Device("cpu"), self._dtype)
        return scipy.sparse.vstack([self._blocks.block(x, 0) for _, x, _ in points], format="csr")
