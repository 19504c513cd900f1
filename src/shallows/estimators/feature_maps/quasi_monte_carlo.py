"""Fourier features at a sequence of low discrepancy, as a transformer."""

from ...features.quasi_monte_carlo import quasi_monte_carlo_frequencies
from .fourier import FourierTransformer


class QuasiMonteCarloFeatures(FourierTransformer):
    """Fourier features of a shift-invariant kernel at a Sobol sequence, which covers the frequencies' law evenly.

    Kernels are those of `FourierFeatures`. The frequencies are quantiles of a randomly shifted sequence of low
    discrepancy. With few inputs the error decreases nearly as 1/n_features (independent frequencies: 1/√n_features);
    with hundreds of inputs both are about equal.

    Parameters
    ----------
    form : {"pair", "cosine"}, default="pair"
        cos ωᵀx and sin ωᵀx, two columns (an odd ``n_features`` is rounded up), or √2 cos(ωᵀx + b) with random phases b.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.QuasiMonteCarloMap
    report_ : dict

    References
    ----------
    J. Yang, V. Sindhwani, H. Avron and M. Mahoney (2014), "Quasi-Monte Carlo feature maps for shift-invariant kernels",
    ICML 31.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import QuasiMonteCarloFeatures
    >>> QuasiMonteCarloFeatures(bandwidth=20.0, random_state=0).fit_transform(load_digits().data).shape
    (1797, 1000)
    """

    _map, _map_name = staticmethod(quasi_monte_carlo_frequencies), "quasi_monte_carlo"
    _grows = True
