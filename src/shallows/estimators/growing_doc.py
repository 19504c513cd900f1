"""What the docstrings of the estimators of growing functions have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .documentation import filled

_SUMMARY = """The function is a growing sum of random Fourier features of the kernel, which are
    regenerated from a seed whenever they are needed: memory does not depend on the number of inputs, and data may
    stream past (`partial_fit`). {default}"""

_DEFAULT = """By default every block of features is fitted through its covariance on one batch, as the
    authors' release does, and its step is the one that serves the batch after it best."""

_DEFAULT_NOVELTY = """The steps are θ/(t + t₀), as in the theory."""

_PARAMETERS = """    kernel : str or Kernel, default="gaussian"
        A shift-invariant kernel of `shallows.kernels`: "gaussian", "laplace", "cauchy", "matern", "laplace_product",
        "cauchy_product".
    bandwidth : float, optional
        σ, in the units of the features. None takes the median distance of a subsample (of the first batch of a stream).
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``.
    method : {"dsg", "udsg", "cdsg"}, default="dsg"
        Whether every step takes a new block of features, some draw an old one at random, or some take an old one where
        the variance bound allows a longer step.
    regularisation : float
        ν (λ), for ν/2 ‖f‖².
    block_size : int, optional
        F, frequencies of a block. None takes n/64 rounded up to a power of two, within 8 and 1,024; 256 for a stream.
    batch_size : int, optional
        B. None takes 10 F, five examples for every column of a block; a stream's batches are as they come, and slices
        of 2,560 rows where arrays are handed in.
    schedule : {"auto", "line_search", "constant", "decay", "theory"}, default="auto"
        "line_search" (what "auto" is, but for novelty) gives every block the step that serves the next batch best.
        "decay" has γ₁/(1 + decrease (t − 1)), "theory" θ/(t + t₀) with θ = theta_nu/regularisation.
    step_size : float, optional
        The first step; with the line search the longest. None takes half of the edge of stability; for the line search
        2/L, L being the smoothness of the loss (without preconditioning 16 times half of the edge). With
        schedule="theory", a step_size of at least θ gives the plain θ/t.
    theta_nu : float, default=1
        θν; the theory asks for (1, 2) or a positive whole number.
    decrease : float, default=1e-4
        As in the authors' release, for schedule="decay".
    preconditioning : {"block", None}
        Whether the covariance of a block on the batch is inverted.
    damping : float, default=1e-4
        What is added to its diagonal. The authors' release has 1e-7, which float32 does not resolve.
    fresh, reused : int, default=1
        G and U of "udsg".
    cap : float, default=2
        θ'/θ of "cdsg": the longest step over the plain one. The paper recommends a cap and gives no number.
    gradient_bound, feature_variance : float, optional
        M and σ² of "cdsg". None estimates both: M as the root mean square of the gradients seen, σ² on a subsample.
    features : {"pair", "cosine"}, default="pair"
        Cosines and sines, or cosines with random phases.
    orthogonal : bool, default=False
        Frequencies at right angles.
    n_iter, max_epochs : int, optional
        Steps and passes over the data at most. None of both takes ten passes and 50 steps at least.
    max_seconds : float, optional
        Of training.
    random_state : int, RandomState or None
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
    memory : int or str, optional
        Bytes (or a text such as "4GB") that the process may hold. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" is float32, and float64 for a fit to at most 1,000 points.
    verbose : int, default=0
        1 shows progress."""

_ATTRIBUTES = """    dual_coef_ : ndarray, shape (n_blocks, width, n_outputs)
        Coefficients of the features.
    n_blocks_, n_reused_, n_iter_, n_random_features_ : int
        Blocks in use, steps that moved an old one, steps, frequencies.
    effective_params_ : dict
        What was chosen and estimated: bandwidth, steps, θ, M, σ², cap and more.

    References
    ----------
    B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song (2014), "Scalable kernel methods via doubly
    stochastic gradients", NIPS 27. C.-L. Li and B. Póczos (2016), "Utilize old coordinates: faster doubly stochastic
    gradients for kernel methods", UAI."""

_FIT = """
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others that look on.
        checkpoint : shallows.training.Checkpoint, optional
            Go on from it if it exists, and keep it up to date."""

_AFTER_FIT = """
        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range.
        DivergenceError
            With a ``step_size`` of the user's that is too large.
        """

_PARTIAL_FIT = """
        X : array-like, memory map, or iterable of batches
            Arrays are read in slices of ``batch_size`` rows, one step each, and are never copied whole. An iterable,
            such as a generator, gives tuples ``(X, y)`` or ``(X, y, sample_weight)``, one step each; it need not end
            if ``n_iter`` or ``max_seconds`` is given.
        y : array-like, optional
            Targets, where X is an array. Not used for novelty.
        classes : array-like, optional
            All labels that will ever come; needed on the first call.
        sample_weight : array-like, optional
        n_iter : int, optional
            Batches at most.
        max_seconds : float, optional
            Of training, at most.
        observers : sequence of shallows.training.Observer
        checkpoint : shallows.training.Checkpoint, optional"""

_AFTER_PARTIAL_FIT = """
        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN, infinity or an unknown label in a batch, which the message numbers; the model is then that of the
            batches before.
        ShallowsError
            A stream that ends before its first batch.
        DivergenceError
            If the loss of a batch leaves the numbers or explodes.
        """


def _taken(function: Callable[..., Any], entries: str) -> str:
    """The entries of the parameters that a function takes."""
    taken = set(inspect.signature(function).parameters)
    kept, keep = [], True
    for line in inspect.cleandoc(entries).splitlines():
        if not line.startswith(" "):
            names = line.split(":")[0].replace(",", " ").split()
            keep = any(name in taken for name in names)
        if keep:
            kept.append(line)
    return "\n".join(kept)


def complete(made: type) -> type:
    """Decorate a class with what all have in common in the docstrings of it and of its ways to fit."""
    parts = {
        "summary": _SUMMARY,
        "default": _DEFAULT if made._takes_targets else _DEFAULT_NOVELTY,
        "parameters": _taken(made.__init__, _PARAMETERS),
        "attributes": _ATTRIBUTES,
    }
    made.__doc__ = filled(made.__doc__, parts)
    for function, entries, ending in (
        (made.fit, _FIT, _AFTER_FIT),
        (made.partial_fit, _PARTIAL_FIT, _AFTER_PARTIAL_FIT),
    ):
        parts = {"parameters": _taken(function, entries), "ending": ending}
        function.__doc__ = filled(function.__doc__, parts)
    return made
