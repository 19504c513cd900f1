"""How fast four rules find the ten components of explicit features of digits, from the components of few rows.

``python benchmarks/feature_kernel_pca.py [--rows N] [--data FOLDER]`` prints for each rule sin² of the largest angle to
the exact components of its own 1,000 Nyström features, and to those of the kernel itself, after 2, 4 and 10 passes over
the data, with the seconds of a fit. A pass of VR-PCA over all rows for a product with the whole covariance counts as
one. Doubly stochastic kernel PCA stands beside them. All start from the components of 500 rows. Reads
``mnist_demo/unit`` in the folder of prepared datasets.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import KernelPCA

import shallows.fitting.components as doubly_stochastic_plan
import shallows.fitting.feature_components as feature_rules
from shallows import kernels
from shallows.decomposition import DoublyStochasticKernelPCA, FeatureKernelPCA
from shallows.kernel_approximation import NystroemFeatures
from shallows.solvers import VRPCA, FeatureOja, MatrixStochasticGradient, NoisyPowerMethod, Oja
from shallows_papers.experiments.running.measures.components import squared_sine

PASSES = (2, 4, 10)
K = 10


def main() -> None:
    """Print a row for each rule."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--data", type=Path, default=Path("data/prepared"))
    asked = parser.parse_args()
    feature_rules.SAMPLE = doubly_stochastic_plan.SAMPLE = 500
    x = np.load(asked.data / "mnist_demo/unit/x_train.npy")[: asked.rows]
    bandwidth = kernels.median_bandwidth(x[:1000].astype(np.float64), 0)
    exact = KernelPCA(K, kernel="rbf", gamma=0.5 / bandwidth**2, eigen_solver="arpack", random_state=0)
    truth = exact.fit_transform(x.astype(np.float64))
    print(
        f"{len(x):,} digits\n\n| rule | passes | sin² to its features' | to the kernel's | s |\n|---|---|---|---|---|"
    )
    for solver in (FeatureOja, VRPCA, NoisyPowerMethod, MatrixStochasticGradient, None):
        for n_passes in PASSES:
            # Every epoch of VR-PCA has a pass of its own before it.
            epochs = n_passes // 2 if solver is VRPCA else n_passes
            started = time.perf_counter()
            if solver is None:
                model = DoublyStochasticKernelPCA(
                    K, bandwidth=bandwidth, solver=Oja(max_epochs=epochs), random_state=0
                ).fit(x)
            else:
                features = NystroemFeatures(bandwidth=bandwidth)
                model = FeatureKernelPCA(K, features=features, solver=solver(max_epochs=epochs), random_state=0).fit(x)
            seconds, values = time.perf_counter() - started, _centred(model.transform(x))
            own = "–"
            if solver is not None:
                Z = _centred(model.transformer_.transform(x))
                directions = np.linalg.eigh(Z.T @ Z)[1][:, -K:]
                own = f"{squared_sine(values, Z @ directions):.1e}"
            beside = squared_sine(values, _centred(truth))
            name = solver.__name__ if solver else "doubly stochastic"
            print(f"| {name} | {n_passes} | {own} | {beside:.1e} | {seconds:.1f} |", flush=True)


def _centred(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)


if __name__ == "__main__":
    main()
