"""Principal components of explicit features, the top eigenvectors of their covariance, from batches of examples.

With features of a kernel it is kernel PCA of the kernel that they stand for, approximately. `problem` has the features
and the state that all solvers share. Each algorithm has a module: `oja`, `noisy_power`, `vr_pca` and `msg`, with two
classes: the settings, such as `msg.MSG`, and the stepper that they build, `msg.MSGStepper`. `SOLVERS` has the settings
by name.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "msg": ".msg:MSG",
        "oja": ".oja:FeatureOja",
        "power": ".noisy_power:NoisyPower",
        "vr": ".vr_pca:VRPCA",
    },
)
"""Every solver of components of features by its name."""
