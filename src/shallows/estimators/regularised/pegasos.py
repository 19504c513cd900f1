"""Pegasos: a support vector machine by stochastic subgradients, on a kernel or on explicit features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShallowsError
from ...solvers.regularised.pegasos import Pegasos
from ...solvers.regularised.risk import RiskProblem
from .risk_targets import RiskClassifier


class PegasosClassifier(RiskClassifier):
    """Support vector machine by Pegasos: subgradient steps of 1/(λt) on a kernel or on explicit features.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ) + b, yᵢ) with a given intercept b, see ``fit_intercept``.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or, where there are no
        explicit features, "precomputed": X is then the kernel matrix in a fit, and the values of new points with all
        training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points and the halves, quarters, ... of it, the one with the smallest leave-one-out error of kernel ridge
        regression on 400 to 1,000 training rows; a wider kernel would need more epochs. "median" and None take the
        median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    features : str or object, optional
        None works with the kernel itself. Else with explicit features of it: "fourier" (cosines and sines of random
        frequencies), "fourier_cosine", "orthogonal", "nystrom", "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the
        inputs and a constant), or an object with ``map(x)`` and ``n_features``.
    n_features : int, default=512
        Columns of a named map; of cosines and sines in pairs an odd number becomes the next even one.
    loss : {"hinge", "logistic", "multiclass_hinge", "softmax"} or Loss, default="hinge"
        Any loss with bounded slopes.
    regularisation : float, "auto" or None, default=None
        λ. "auto" takes that of kernel ridge regression with the smallest leave-one-out error on the rows that the
        bandwidth is chosen with, and without a kernel does as None. None takes 1/n, which is C = 1 of a support vector
        machine; C in general is 1/(λn).
    fit_intercept : bool, default=True
        Learn f about an intercept b, which is not regularised: the constant score of the least loss, from the weighted
        class frequencies alone. That is their log-odds for "logistic", their logarithms for "softmax", and the mean of
        the coded targets for the other losses. Where the inputs tell nothing, probabilities are then the frequencies.
        False learns f about 0, as the method was published.
    projection : bool, default=False
        Project f onto the ball ‖f‖ ≤ 1/√λ after every step, in which the optimum lies: for several classes with a
        hinge for each, that of each class. Of other losses λ‖f‖² is at most the loss of the zero function: log 2 for
        "logistic", log k for "softmax" and k classes.
    averaging : bool, default=False
        Make the mean of the iterates the model, later ones with more weight. The last iterate alone depends on its
        last batches, so that the mean is much better after few epochs.
    batch_size : int, optional
        m, the rows of a step. None takes a twentieth of them: 16 to 256 with a kernel, 8 to 64
        with features.
    max_epochs : int, default=10
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of training. These include kernel values and features, but not preparation, landmarks and
        evaluation.
    tol : float, default=0.0
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, random features and landmarks. The same int gives the
        same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets; for the hinges their mean.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
        Numbers of the training rows with coefficients other than zero; without explicit features.
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit; ``eigensystem`` is the choice of landmarks and their map.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), "Pegasos: primal estimated sub-gradient solver for
    SVM", Mathematical Programming 127.
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        features: Any = None,
        n_features: int = 512,
        loss: Any = "hinge",
        regularisation: float | str | None = None,
        fit_intercept: bool = True,
        projection: bool = False,
        averaging: bool = False,
        batch_size: int | None = None,
        max_epochs: int = 10,
        max_seconds: float | None = None,
        tol: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.features = features
        self.n_features = n_features
        self.loss = loss
        self.regularisation = regularisation
        self.fit_intercept = fit_intercept
        self.projection = projection
        self.averaging = averaging
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not np.isfinite(self._named_loss().slope_bound):
            raise ShallowsError(
                f"The first steps of Pegasos are long, so it needs a loss of bounded slopes; {self.loss!r} is none. "
                "Take SDCAClassifier."
            )

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> Pegasos:
        return Pegasos(bool(self.projection), bool(self.averaging))
