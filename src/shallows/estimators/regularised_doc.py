"""What the docstrings of the estimators of a regularised risk have in common."""

PARTS = {
    "objective": """
        Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ), without an intercept.""",
    "kernel": """
        kernel : str or Kernel, default="gaussian"
            See `shallows.kernels`; a kernel object brings its own parameters.
        bandwidth : float, optional
            σ, in the units of the features. None takes the median distance of a subsample.
        kernel_params : dict, optional
            Further parameters of a kernel that is named, such as ``{"nu": 1.5}``.""",
    "features": """
        features : str or object, optional
            None works with the kernel itself. Else on explicit features of it: {maps}
        n_features : int, default=512
            Columns of the named maps.""",
    "features_first": """
        features : str or object, default="fourier"
            {maps}
        n_features : int, default=512
            Columns of the named maps.""",
    "maps": """
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal", "nystrom",
        "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the inputs and a constant), or an object with ``map(x)`` and
        ``n_features``.""",
    "regularisation": """
        regularisation : float, optional
            λ. None takes 1/n, which is C = 1 of a support vector machine; C in general is 1/(λn).""",
    "training": """
        batch_size : int, optional
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
    "attributes": """
        dual_coef_ : ndarray, shape (n_support, n_outputs)
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
}
