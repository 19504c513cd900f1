"""Classification by doubly stochastic gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ... import arrays, losses, training
from ...errors import ShallowsError
from ...fitting.expansion_targets import StreamedClasses
from ...fitting.labels import refuse_balanced, refuse_missing_labels
from ...fitting.stream_training import Stream
from ..inputs import follows_input
from ..parameters import with_parameters
from ..predictions import LabelPredictions, has_probabilities
from .random_feature_expansion import RandomFeatureExpansion


class DoublyStochasticClassifier(LabelPredictions, RandomFeatureExpansion):
    """Classification by doubly stochastic gradients: logistic regression, softmax, support vector machines.

    The function is a sum of random features of the kernel, which gains a block of them in every step. Features
    are regenerated from a seed whenever they are needed: memory does not depend on the number of inputs, and data may
    stream past (`partial_fit`). By default every block of features is fitted through its covariance on one batch, as
    the authors' release does, and the steps are θ/(t + t₀), as in the theory.

    Parameters
    ----------
    loss : {"logistic", "softmax", "hinge", "squared_hinge", "multiclass_hinge", "square"} or Loss, default="auto"
        "auto" is the logistic loss for two classes and softmax for more. The losses of signs take a column a class,
        one against the rest.
    kernel : str or Kernel, default="gaussian"
        A kernel of `shallows.kernels` that draws random features: "gaussian", "laplace", "cauchy", "matern",
        "laplace_product", "cauchy_product" by their frequencies, "polynomial", "linear", "exponential", "arc_cosine" by
        features of their own, which vary more.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the multiple of the median distance with which kernel ridge
        regression has the least leave-one-out error on 600 points (on the first rows of a stream). "median" and None
        take the median distance of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``.
    method : {"dsg", "udsg", "cdsg"}, default="dsg"
        Which block of features a step moves: always a new one ("dsg"), in some steps an old one at random ("udsg"),
        or an old one wherever the variance bound then allows a longer step ("cdsg", for features with a bound: those
        with frequencies, and those of "arc_cosine" of order 0).
    regularisation : float, optional
        λ, for λ/2 ‖f‖² beside the mean loss. None takes the one with the smallest leave-one-out error on the points
        that the bandwidth is chosen with, for a loss of classes in units of its curvature.
    fit_intercept : bool, default=True
        Learn f about an intercept b, which is not regularised: a constant score from the weighted class frequencies
        alone. That is their log-odds for "logistic", their logarithms for "softmax", and the mean of the coded targets
        for the other losses. Where the inputs tell nothing, probabilities are then the frequencies. A stream counts the
        classes as they come. False learns f about 0, as the method was published.
    block_size : int, optional
        F, the frequencies of a block. None takes n/32 rounded up to a power of two, between 32 and 1,024; 128 for a
        stream that is begun with 2,560 rows. Of features without frequencies twice as many.
    batch_size : int, optional
        B, the rows of a step. None takes five examples for every column of a block (ten for features="cosine"). The
        batches of a stream are used as they come, small ones once 100 rows are there; arrays that are handed to
        `partial_fit` are cut into ten slices of 256 to 2,560 rows.
    schedule : {"auto", "line_search", "constant", "decay", "theory"}, default="auto"
        "theory" has steps θ/(t + t₀) with θ = theta_nu/κ, where a step of one shrinks f by κ: with
        preconditioning="block" that is F regularisation/damping, else regularisation. "line_search" gives every block
        the step that serves the next batch best, "decay" has γ₁/(1 + decrease (t − 1)). "auto" is "theory" with
        preconditioning and a regularisation above 0, else "line_search".
    step_size : float, optional
        The first step; with the line search the longest one. None takes 1/(2L) with the smoothness L of the loss where
        the damping is chosen, else half of the edge of stability; for the line search 2/L (without preconditioning, 16
        times half of the edge). With schedule="theory" and without preconditioning, a step_size of at least θ gives the
        plain θ/t.
    theta_nu : float, optional
        θν; the theory asks for (1, 2) or a positive whole number. None takes 2 with preconditioning, else 1.
    decrease : float, default=1e-4
        How fast the steps of schedule="decay" fall; the default is that of the authors' release.
    preconditioning : {"block", "decoupled", None}, default="block"
        Whether the covariance of a block on the batch is inverted. With "block" the steps lead to the regularised
        solution all the same, see `shallows.solvers.expansions.doubly_stochastic`. "decoupled" inverts it for the
        gradient of the loss alone and shrinks f by regularisation times the step (decoupled weight decay), as the
        authors' release does; the solution then depends on the damping.
    damping : float, optional
        What is added to the diagonal of the covariance. None takes, with "block", ten times F regularisation/L (more
        for losses of classes that are easily told), and at least c F/B with c three times the λ of the kernel ridge
        regression that chose the regularisation (for the sum of the squares), between 0.02 and 0.5; 0.15 where none was
        chosen. The authors' release has 1e-7, which float32 does not resolve. With "block" it is raised where a step
        would shrink f by more than a tenth.
    fresh, reused : int, default=1
        G and U of "udsg": G steps with new blocks, then U steps with old ones, and so on.
    cap : float, default=2
        θ'/θ of "cdsg": the longest step over the plain one. The paper recommends a cap and gives no number.
    gradient_bound, feature_variance : float, optional
        M and σ² of "cdsg". None estimates both: M as the root mean square of the gradients so far, σ² on a
        subsample.
    features : {"pair", "cosine"}, default="pair"
        Cosines and sines, or cosines with random phases, of kernels that have frequencies.
    orthogonal : bool, default=False
        Whether the frequencies of a block are at right angles to each other.
    keep_values : bool, default=True
        Whether `fit` keeps f at the training points, n × c numbers, so that a batch that comes again costs only the
        blocks that are new since. False sums all blocks for every batch, as the method was published.
    n_iter, max_epochs : int, optional
        The most steps and the most passes over the data. If both are None, ten passes and at least 200 steps for up to
        1,000 rows, 100 for 4,000, 50 for 16,000 and more.
    max_seconds : float, optional
        The most seconds of training.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: random features, the order of the rows and which blocks are used again. The
        same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for a fit to at most 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets: their mean for "square".
    dual_coef_ : ndarray, shape (n_blocks, width, n_outputs)
        Coefficients of the features.
    n_blocks_, n_reused_, n_iter_, n_random_features_ : int
        Blocks in use, steps that moved an old one, steps, frequencies.
    effective_params_ : dict
        What was chosen and estimated: bandwidth, steps, θ, M, σ², cap and more.

    References
    ----------
    B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song (2014), "Scalable kernel methods via doubly
    stochastic gradients", NIPS 27. C.-L. Li and B. Póczos (2016), "Utilize old coordinates: faster doubly stochastic
    gradients for kernel methods", UAI.
    """

    __init__ = with_parameters(RandomFeatureExpansion.__init__, fit_intercept=True, class_weight=None)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        n_iter: int | None = None,
        max_seconds: float | None = None,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Go on with data that stream past.

        Parameters
        ----------
        X : array-like, memory map, or iterable of batches
            Arrays are read in slices, see ``batch_size``, one step each, and are never copied whole. An iterable,
            such as a generator, gives tuples ``(X, y)`` or ``(X, y, sample_weight)``, one step each; it need not end
            if ``n_iter`` or ``max_seconds`` is given.
        y : array-like, optional
            Labels, where X is an array.
        classes : array-like, optional
            All labels that will ever come; needed on the first call. For several labels of each example, the numbers of
            the columns of y.
        sample_weight : array-like, optional
        n_iter : int, optional
            Batches at most.
        max_seconds : float, optional
            Of training, at most.
        observers : sequence of shallows.training.Observer
        checkpoint : shallows.training.Checkpoint, optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN, infinity or an unknown label in a batch, which the message numbers.
        ShallowsError
            A stream that ends before its first batch.
        DivergenceError
            If the loss of a batch leaves the numbers or explodes.

        Notes
        -----
        The model begins as that of ``fit`` to the rows so far. Up to 2,560 rows are kept, and it is fitted anew when
        they are a quarter more than at the last time; bandwidth, regularisation, centres and units are then chosen
        anew. It goes on from there by steps of 100 rows or more, for which smaller batches wait. What is kept is saved
        with the model.

        An error or Ctrl-C in a call with an array leaves the model as it was before the call. In a call with an
        iterable, the model is then that of the batches before.
        """
        refuse_missing_labels(classes, "classes")
        refuse_balanced(self.class_weight)
        if classes is None and not hasattr(self, "_stream"):
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels that will ever come, which a "
                "first batch need not show."
            )
        return self._partial_fit(X, y, classes, sample_weight, n_iter, max_seconds, observers, checkpoint)

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> StreamedClasses:
        loss = None if self._chooses_loss() else losses.make(self.loss)
        options = {"fit_intercept": self.fit_intercept, "class_weight": self.class_weight}
        return StreamedClasses.of_stream(y, classes, loss, **options)

    def _store(self, stream: Stream, run: training.Run | None, seconds: dict[str, float]) -> None:
        super()._store(stream, run, seconds)
        self.classes_ = self._targets.classes

    def _chooses_loss(self) -> bool:
        return isinstance(self.loss, str) and self.loss == "auto"

    def _fitted_loss(self) -> losses.Loss:
        """The loss of the fitted model, which `set_params` does not change; before a fit that of the parameter."""
        if hasattr(self, "_targets"):
            return self._targets.loss
        return losses.Logistic() if self._chooses_loss() else losses.make(self.loss)

    def _check_loss(self) -> None:
        loss = losses.make(losses.Logistic() if self._chooses_loss() else self.loss)
        if not (loss.for_classes or loss.name == "square"):
            known = sorted(name for name, kind in losses.LOSSES.items() if kind().for_classes or name == "square")
            raise ShallowsError(
                f"loss={loss.name!r} is not for classes (DoublyStochasticRegressor has those for numbers). Here: "
                f"{', '.join(known)}."
            )

    @property
    def intercept_(self) -> np.ndarray:
        """b, shape (n_outputs,)."""
        if not hasattr(self, "_stream"):
            raise AttributeError("intercept_ is there after fit.")
        problem = self._model.plan.problem
        b = self._state.intercept(problem)
        return np.zeros(problem.n_outputs) if b is None else arrays.to_numpy(b)

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return self._targets.decode(scores)

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
            For two classes, positive speaks for the second. (n_samples, n_labels) after a fit to several labels for
            each example.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.decisions(scores)

    @available_if(has_probabilities)
    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities, for the losses "logistic" and "softmax".

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            Of each label alone, after a fit to several for each example.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.probabilities(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(ShallowsError):  # an unknown loss is told by the fit
            tags.classifier_tags.multi_label = self._chooses_loss() or losses.make(self.loss).coding != "indicator"
        return tags
