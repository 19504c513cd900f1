"""Principal components of explicit features, the top eigenvectors of their covariance, from batches of examples.

With features of a kernel it is kernel PCA of the kernel that they stand for, approximately. `problem` has the features
and the state that all solvers share. Each algorithm has a module: `oja`, `noisy_power`, `vr_pca` and `msg`. `SOLVERS`
has them by name, each as a `FeaturePCASolver`.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "msg": ".msg:MSG_SOLVER",
        "oja": ".oja:OJA_SOLVER",
        "power": ".noisy_power:POWER_SOLVER",
        "vr": ".vr_pca:VR_SOLVER",
    },
)
"""Every solver of components of features by its name."""
