"""What the docstrings of the estimators of least squares have in common."""

PARTS = {
    "kernel": """
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; or a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`).""",
    "bandwidth": """
    bandwidth : float, optional
        σ, in the units of the features, of the kernels that have one. None takes the median distance of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.""",
    "tol": """
    tol : float, default=5e-3
        Stop when the training loss of an epoch is this share of the loss of the zero function.""",
    "memory": """
    memory : int or str, optional
        Bytes (or a text such as "4GB") that the process may hold. None takes a share of what is free.""",
    "dtype": """
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" is float32, and float64 up to 1,000 points.
    verbose : int, default=0
        1 shows progress.""",
    "told": """
    effective_params_ : dict
        Everything that the program chose.
    timings_ : dict
        Seconds by phase.""",
}
