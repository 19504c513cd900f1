"""EigenPro for models with fewer centres than data, for classes and for values."""

from __future__ import annotations

from ..constructors import with_parameters
from .eigenpro_centres_fit import EigenProCentresFit
from .least_squares_targets import LeastSquaresClassifier, LeastSquaresRegressor


class EigenProCentresClassifier(EigenProCentresFit, LeastSquaresClassifier):
    """Kernel classification by EigenPro with fewer centres than data: least squares on ±1 targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in batches; the gradient, preconditioned
    as in `EigenProClassifier`, is projected onto the span of the centres, and the iterates are averaged. Memory holds
    p² numbers.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    centres : int or array of shape (p, n_features), default=2000
        How many training points, drawn at random, are the centres, or the centres themselves.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a quarter of the subsample,
        or fewer where the spectrum falls below λ/n; up to 1,000 points, all directions above λ/n. A given rank is a
        limit: directions whose eigenvalues lie below λ/n are left as they are.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or all if there are
        fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ in the span of the centres, and at least 2p, so that the
        projection's share of the time stays small; all rows of up to 1,000. β is the largest value of the
        preconditioned kernel's diagonal, μ its largest eigenvalue.
    step_size : float, optional
        η, for a sum over the batch. None takes 2/(β + (m − 1)μ) and at most 1/(mμ), with μ and β measured in the
        span of the centres on training points that are no centres; an epoch in which training diverges is then
        repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=10
        The most passes over the training data.
    tol : float, default=5e-3
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
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The data are kept in the precision of the fit if they fit, else read anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_, step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step and on the iterate. The average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import EigenProCentresClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EigenProCentresClassifier(centres=300, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> model.dual_coef_.shape, bool(model.score(X[1200:], y[1200:]) > 0.93)
    ((300, 10), True)
    """

    __init__ = with_parameters(EigenProCentresFit.__init__, class_weight=None)


class EigenProCentresRegressor(EigenProCentresFit, LeastSquaresRegressor):
    """Kernel regression by EigenPro with fewer centres than data: least squares about the mean of the targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in batches; the gradient, preconditioned
    as in `EigenProClassifier`, is projected onto the span of the centres, and the iterates are averaged. Memory holds
    p² numbers.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    centres : int or array of shape (p, n_features), default=2000
        How many training points, drawn at random, are the centres, or the centres themselves.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a quarter of the subsample,
        or fewer where the spectrum falls below λ/n; up to 1,000 points, all directions above λ/n. A given rank is a
        limit: directions whose eigenvalues lie below λ/n are left as they are.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or all if there are
        fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ in the span of the centres, and at least 2p, so that the
        projection's share of the time stays small; all rows of up to 1,000. β is the largest value of the
        preconditioned kernel's diagonal, μ its largest eigenvalue.
    step_size : float, optional
        η, for a sum over the batch. None takes 2/(β + (m − 1)μ) and at most 1/(mμ), with μ and β measured in the
        span of the centres on training points that are no centres; an epoch in which training diverges is then
        repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=10
        The most passes over the training data.
    tol : float, default=5e-3
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
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The data are kept in the precision of the fit if they fit, else read anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_, step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step and on the iterate. The average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.
    """
