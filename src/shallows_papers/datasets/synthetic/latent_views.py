"""Views of a hidden class, the nonparametric latent variable model for kernel SVD."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows_papers.datasets.parameter_rules import COUNT, POSITIVE, between
from shallows_papers.datasets.synthetic.generator import Generator


@dataclass(frozen=True, eq=False)
class LatentViews(Generator):
    r"""Views that are independent and identically distributed given a hidden class.

    The class is 0 with probability `weight`; then every view is normal. Otherwise every view is Gamma distributed with
    shape 1.2. The features are the views. The target is the hidden class, which a method that recovers the
    distributions must not use. The covariance operator of two views, :math:`E[k(x, \cdot) \otimes k(x', \cdot)]`, has
    rank 2: it is :math:`\sum_h w_h \mu_h \otimes \mu_h` with the mean embeddings :math:`\mu_h` of the two
    distributions.

    ``mean, deviation``: parameters of the normal component. ``shape, scale``: parameters of the Gamma component.

    Notes ----- Xie et al. (2015) give only the shape 1.2. The other defaults are chosen to fill the axes of their
    figure 3, from -10 to 15 and up to a density of 0.25. The normal distribution ends at -10 and its density has the
    maximum 0.2; the Gamma distribution ends at 15 and its density has the maximum 0.22.

    References
    ----------
    B. Xie, Y. Liang and L. Song. Scale up nonlinear component analysis with doubly stochastic gradients. NIPS 2015,
    section 6. L. Song, A. Anandkumar, B. Dai and B. Xie. Nonparametric estimation of multi-view latent variable models.
    ICML 2014.
    """

    name = "latent_views"
    task = "classification"
    n_classes = 2

    # Two for the SVD; with a third view the distributions are identifiable, not only their mixtures
    n_views: int = field(default=2, metadata=COUNT)
    weight: float = field(default=0.5, metadata=between(0, 1))  # Probability of the normal component
    mean: float = -4.0
    deviation: float = field(default=2.0, metadata=POSITIVE)
    shape: float = field(default=1.2, metadata=POSITIVE)
    scale: float = field(default=3.0, metadata=POSITIVE)

    @property
    def d(self) -> int:
        """The number of features, one per view."""
        return self.n_views

    def densities(self, x: np.ndarray) -> np.ndarray:
        """Return the densities of the normal and of the Gamma component at the numbers `x`, shape (n, 2)."""
        x = np.asarray(x, dtype=np.float64).ravel()
        normal = np.exp(-(((x - self.mean) / self.deviation) ** 2) / 2) / (self.deviation * math.sqrt(2 * math.pi))
        positive = np.where(x > 0, x, 1.0)
        log_gamma = (
            (self.shape - 1) * np.log(positive)
            - positive / self.scale
            - math.lgamma(self.shape)
            - self.shape * math.log(self.scale)
        )
        return np.column_stack([normal, np.where(x > 0, np.exp(log_gamma), 0.0)])

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities of the components given all views of an example, shape (n, 2)."""
        x = np.asarray(x, dtype=np.float64)
        joint = np.array([self.weight, 1 - self.weight]) * np.prod(
            [self.densities(view) for view in x.reshape(-1, self.n_views).T], axis=0
        )
        return joint / joint.sum(axis=1, keepdims=True)

    def _numbers_per_row(self) -> int:
        return self.n_views + 1

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        # Inverse distribution functions need a fixed number of draws per example; rejection sampling does not.
        from scipy.special import gammaincinv, ndtri

        u = streams.uniform(self.seed, self.name, chunk, (n_rows, self.n_views + 1))
        component = (u[:, 0] >= self.weight).astype(np.int64)
        u = np.maximum(u[:, 1:], 2.0**-54)  # ndtri(0) is infinite
        normal = self.mean + self.deviation * ndtri(u)
        gamma = self.scale * gammaincinv(self.shape, u)
        return np.where(component[:, None] == 0, normal, gamma), component
