"""Principal components of explicit features, the top eigenvectors of their covariance, from batches of examples."""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "feature_oja": ".feature_pca:FeatureOja",
        "matrix_stochastic_gradient": ".feature_pca:MatrixStochasticGradient",
        "noisy_power_method": ".feature_pca:NoisyPowerMethod",
        "vr_pca": ".feature_pca:VRPCA",
    },
)
"""Every solver of components of features by its name."""
