"""Kernel PCA by doubly stochastic gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ... import training
from ...fitting.checks import check_choice
from ...fitting.kernel_components import KernelComponents, fit_kernel_components
from ...fitting.stream_training import Batch
from ...solvers.components.oja import ComponentState, Oja
from ..constructors import with_parameters
from ..input_checks import read_points
from .component_estimator import ComponentEstimator

METHODS = ("subspace", "individual")
SCALINGS = ("eigenvalues", None)


class DoublyStochasticKernelPCA(ComponentEstimator):
    """Kernel PCA by doubly stochastic gradients, for data that the kernel matrix of does not fit into memory.

    The components are sums of random Fourier features of the kernel, which gain a block in every step and are moved by
    Oja's rule; when the budget of features is used up, old blocks are revisited. Features are made anew from a seed
    whenever they are needed: memory grows with the number of features and not with that of the points or of their
    dimensions, and data may stream past (`partial_fit`). Nothing is orthogonalised. Only the kernel and the number of
    components need be set.

    Parameters
    ----------
    n_components : int, default=2
        k.
    kernel : str or Kernel, default="gaussian"
        A shift-invariant kernel of `shallows.kernels`: "gaussian", "laplace", "cauchy", "matern", "laplace_product",
        "cauchy_product".
    bandwidth : float, "median" or None, default=None
        σ, in the units of the features. "median" and None take the median distance of a subsample (of the first rows of
        a stream).
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``.
    center : bool, default=True
        Whether functions are centred in the space of the kernel, as `sklearn.decomposition.KernelPCA` does. The paper
        does not (False).
    method : {"subspace", "individual"}, default="subspace"
        "subspace" learns the span of the components by Oja's rule, and turns them to the eigenfunctions by their
        covariance at the end; "individual" learns the eigenfunctions themselves by the generalised Hebbian rule.
    scaling : {"eigenvalues", None}, default="eigenvalues"
        "eigenvalues" divides a step by the running estimate of the eigenvalues, so that small ones converge as fast as
        large ones and a step is a share of a whole one; None is the rule as it is printed.
    step_size : float, optional
        η₁. None takes a half, or with scaling=None half of the inverse of the largest eigenvalue.
    decrease : float, optional
        ρ in the steps η₁ / (1 + ρ (t − 1)). None takes the ρ for which they tend to c/t with c twice the inverse of the
        gap after the last component; the gap is that of the problem which the training starts from.
    block_size : int, optional
        F, the frequencies of a block. None takes about 512, fewer for fewer than 4,096 points.
    max_features : int, optional
        The budget of random frequencies. None takes four times the number of points, at least 512 and at
        most 16,384.
    batch_size : int, optional
        B, the rows of a step. None takes so many that the smallest component stands out of the noise, from 256 to
        8,192. The batches of a stream are used as they come, small ones once that many rows are there; arrays that are
        handed to `partial_fit` are cut into slices of that size, 2,048 rows where none is given.
    orthogonal : bool, optional
        Whether the frequencies of a block are at right angles to each other, which lowers the variance. None means
        wherever the kernel allows it.
    n_iter, max_epochs : int, optional
        The most steps and the most passes over the data. If both are None, three passes and at least 200 steps.
    max_seconds : float, optional
        The most seconds of training.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: random features, the order of the rows and of the blocks. The same int gives
        the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32: sines and cosines of it are many times faster.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    eigenvalues_ : ndarray, shape (n_components,)
        Of the covariance operator, which are those of the kernel matrix divided by the number of points;
        `sklearn.decomposition.KernelPCA` has them without the division. Descending, with method="subspace".
    dual_coef_ : ndarray, shape (n_blocks, width, n_components)
        Coefficients of the features, turned to the components.
    n_blocks_, n_revisits_, n_iter_, n_random_features_ : int
        Blocks in use, steps that moved an old one, steps, frequencies.
    bandwidth_ : float
    effective_params_ : dict
        What was chosen and estimated.

    References
    ----------
    B. Xie, Y. Liang and L. Song (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS
    28.
    """

    __init__ = with_parameters(
        ComponentEstimator.__init__, center=True, method="subspace", scaling="eigenvalues", decrease=None
    )

    # ------------------------------------------------------------------------------------ the parts of a fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, method=METHODS, scaling=SCALINGS)

    def _validated_views(self, X: Any, *, first: bool, least: int = 2) -> tuple[Any, ...]:
        least = least if self.center else 1  # Deviations from a mean need two rows.
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_min_samples": least}
        return (validate_data(self, read_points(X), reset=first, **options),)

    def _settings(self) -> Oja:
        """The settings of the solver."""
        return Oja(method=self.method, scaling=self.scaling, **self._step_parameters())

    def _train(
        self,
        rows: Batch,
        seed: int,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
        max_seconds: float | None = None,
    ) -> tuple[KernelComponents, training.Run, dict[str, float]]:
        return fit_kernel_components(
            rows[0],
            kernel=self._view_kernels()[0],
            n_components=self.n_components,
            centred=bool(self.center),
            block_size=self.block_size,
            max_features=self.max_features,
            orthogonal=self.orthogonal,
            solver=self._settings(),
            chosen={"method": self.method, "scaling": self.scaling},
            seed=seed,
            options=self._options(),
            max_seconds=max_seconds,
            observers=observers,
            checkpoint=checkpoint,
        )

    def _describe(self, model: KernelComponents, state: ComponentState) -> None:
        super()._describe(model, state)
        self.eigenvalues_ = model.eigenvalues
