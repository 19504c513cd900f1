"""Stochastic dual coordinate ascent, on a kernel or on explicit features, for classes and for values."""

from __future__ import annotations

from ...losses.margins import Hinge
from ...solvers.regularised.risk import RiskProblem
from ...solvers.regularised.sdca import SDCA
from .risk_targets import RiskClassifier, RiskRegressor


class _SDCA:
    """Parameters and solver of dual coordinate ascent, for classes and for values."""

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SDCA:
        return SDCA()


class SDCAClassifier(_SDCA, RiskClassifier):
    """Classification by stochastic dual coordinate ascent, on a kernel or on explicit features.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ) + b, yᵢ) with a given intercept b, see ``fit_intercept``. There is no step
    size: each dual variable is set to its best value in turn.

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
    loss : {"hinge", "squared_hinge", "logistic", "square"} or Loss, default="auto"
        "auto" is the hinge.
    regularisation : float, "auto" or None, default="auto"
        λ. "auto" takes that of kernel ridge regression with the smallest leave-one-out error on the rows that the
        bandwidth is chosen with, and without a kernel does as None. None takes 1/n, which is C = 1 of a support vector
        machine; C in general is 1/(λn).
    fit_intercept : bool, default=True
        Learn f about an intercept b, which is not regularised: the constant score of the least loss, from the weighted
        class frequencies alone. That is their log-odds for "logistic", their logarithms for "softmax", and the mean of
        the coded targets for the other losses. Where the inputs tell nothing, probabilities are then the frequencies.
        False learns f about 0, as the method was published.
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
        b, the constant with the least loss on the targets: their mean for "square".
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
    S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14.
    """

    _default_loss = Hinge()


class SDCARegressor(_SDCA, RiskRegressor):
    """Regression by stochastic dual coordinate ascent, on a kernel or on explicit features.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ − b) about the constant b of the least loss. There is no step size:
    each dual variable is set to its best value in turn.

    A λ that is chosen is at least 1/n, for smaller ones would need more epochs.

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
    loss : {"square", "epsilon_insensitive", "huber", "quantile"} or Loss, default="auto"
        "auto" is the square.
    regularisation : float, "auto" or None, default="auto"
        λ. "auto" takes that of kernel ridge regression with the smallest leave-one-out error on the rows that the
        bandwidth is chosen with, and without a kernel does as None. None takes 1/n, which is C = 1 of a support vector
        machine; C in general is 1/(λn).
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
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets: their mean for "square".
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
    S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14.
    """

    # In ten epochs the dual problem of values is not solved for a smaller λ than 1/n.
    _least_ridge = 1.0
