"""EigenPro on explicit features, for classes and for values."""

from __future__ import annotations

from ..constructors import with_parameters
from .feature_eigenpro_fit import FeatureEigenProFit
from .least_squares_targets import LeastSquaresClassifier, LeastSquaresRegressor


class FeatureEigenProClassifier(FeatureEigenProFit, LeastSquaresClassifier):
    """Classification by EigenPro on explicit features: a linear model of least squares on ±1 targets.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProClassifier`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant); further names are the
        keys of `shallows.features.FEATURE_MAPS`. An object has ``map(x)`` of shape (m, n_features) and ``n_features``;
        it receives the inputs without centring. A transformer goes into a pipeline before a linear model, or into
        `FeatureRidgeClassifier`.
    n_features : int, default=4000
        How many features. A cosine and a sine are two, so that for pairs an odd number becomes the next even one.
        "linear" and objects have their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
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
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below 1/n before; up to 1,000 points, the directions above 1/200 of the largest
        eigenvalue. 0 flattens none. A given rank is a limit: directions whose eigenvalues lie below λ/n are left as
        they are.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500
        and at most 12,000, as the memory allows; all of up to 1,000 points.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}; ¼ is what the paper has for random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the
        same progress: β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
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
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features)
        A, transposed.
    bandwidth_ : float
        Of the named maps.
    step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, Table 1 and section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import FeatureEigenProClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = FeatureEigenProClassifier(n_features=2000, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(FeatureEigenProFit.__init__, class_weight=None)


class FeatureEigenProRegressor(FeatureEigenProFit, LeastSquaresRegressor):
    """Regression by EigenPro on explicit features: a linear model of least squares.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProRegressor`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant); further names are the
        keys of `shallows.features.FEATURE_MAPS`. An object has ``map(x)`` of shape (m, n_features) and ``n_features``;
        it receives the inputs without centring. A transformer goes into a pipeline before a linear model, or into
        `FeatureRidgeClassifier`.
    n_features : int, default=4000
        How many features. A cosine and a sine are two, so that for pairs an odd number becomes the next even one.
        "linear" and objects have their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
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
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below 1/n before; up to 1,000 points, the directions above 1/200 of the largest
        eigenvalue. 0 flattens none. A given rank is a limit: directions whose eigenvalues lie below λ/n are left as
        they are.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500
        and at most 12,000, as the memory allows; all of up to 1,000 points.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}; ¼ is what the paper has for random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the
        same progress: β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
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
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features)
        A, transposed.
    bandwidth_ : float
        Of the named maps.
    step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, Table 1 and section 4.
    """
