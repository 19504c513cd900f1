"""What the docstrings of the estimators of a regularised risk have in common, written once."""

from __future__ import annotations

_FEATURES = """"fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal", "nystrom",
        "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the inputs and a constant), or an object with ``map(x)`` and
        ``n_features``.
    n_features : int, default=512
        Columns of the named maps."""

COMMON = {
    "objective": """Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ), without an intercept.""",
    "kernel": """kernel : str or Kernel, default="gaussian"
        See `shallows.kernels`; a kernel object brings its own parameters.
    bandwidth : float, optional
        σ, in the units of the features. None takes the median distance of a subsample.
    kernel_params : dict, optional
        Further parameters of a kernel that is named, such as ``{"nu": 1.5}``.""",
    "features": f"""features : str or object, optional
        None works with the kernel itself. Else on explicit features of it: {_FEATURES}""",
    "features_first": f"""features : str or object, default="fourier"
        {_FEATURES}""",
    "regularisation": """regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine; C in general is 1/(λn).""",
    "step": """step_size : float, optional
        None takes it from the theory and the measured smoothness of batches.""",
    "norma": """step_size : float, optional
        η₁. None takes 1/(M√(λκ)) for a loss of slopes bounded by M (divided by √T in the constant schedule of T steps),
        else the reciprocal of the curvature of a batch; 1/λ in the inverse schedule.
    schedule : {"root", "constant", "inverse"}
        η_t = η₁/√t, η₁ or η₁/t.
    truncation : int, optional
        Terms that are older than so many examples are dropped.""",
    "training": """batch_size : int, optional
        Rows of a step. None takes 256 with a kernel and 64 with features, fewer below 5,000 rows.
    max_epochs : int
        Passes over the data at most.
    max_seconds : float, optional
        Of training at most, kernel values and features included, without preparation, landmarks and evaluation.
    random_state : int, RandomState or None
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
    memory : int or str, optional
        Bytes (or a text such as "4GB") that the process may hold. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" is float32, and float64 up to 1,000 points.
    verbose : int, default=0
        1 shows progress.""",
    "attributes": """dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Of each epoch, as shares of the loss of the zero function, each batch measured before its own step.
    effective_params_ : dict
        Everything that the program chose.
    timings_ : dict
        Seconds by phase; ``eigensystem`` is the making of landmarks and their map.""",
    "norma_reference": """
    References
    ----------
    J. Kivinen, A. Smola and R. Williamson (2004), "Online learning with kernels", IEEE Transactions on Signal
    Processing 52.""",
    "sdca_reference": """
    References
    ----------
    S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14.""",
    "svrg_reference": """
    References
    ----------
    R. Johnson and T. Zhang (2013), "Accelerating stochastic gradient descent using predictive variance reduction",
    NIPS 26.""",
    "sag_reference": """
    References
    ----------
    M. Schmidt, N. Le Roux and F. Bach (2017), "Minimizing finite sums with the stochastic average gradient",
    Mathematical Programming 162. A. Defazio, F. Bach and S. Lacoste-Julien (2014), "SAGA: a fast incremental gradient
    method with support for non-strongly convex composite objectives", NIPS 27.""",
}


def document(*classes: type) -> None:
    """Write the common parts where the docstrings of the classes name them in braces."""
    for made in classes:
        for part, text in COMMON.items():
            made.__doc__ = made.__doc__.replace("{" + part + "}", text)
        made.__doc__ = made.__doc__.replace("{{", "{").replace("}}", "}")
