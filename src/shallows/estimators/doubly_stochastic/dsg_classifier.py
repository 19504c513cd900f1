"""Classification by doubly stochastic gradients."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ... import arrays, losses, training
from ...fitting.rows import check_classes, refuse_balanced, refuse_missing_labels
from ...fitting.stream_training import StreamState
from ...fitting.targets import StreamedClasses
from ..constructors import with_parameters
from ..predictions import LossPredictions
from ..streaming import StreamCall
from .random_feature_expansion import RandomFeatureExpansion


class DoublyStochasticClassifier(LossPredictions, RandomFeatureExpansion):
    """Classification by doubly stochastic gradients: logistic regression, softmax, support vector machines.

    The function is a sum of random features of the kernel and gains a block of features in every step. Features are
    generated from a seed when they are needed. Memory does not depend on the number of inputs, and data may be a stream
    (`partial_fit`). By default each block is fitted through its covariance on a batch, as in the authors' release.

    Parameters
    ----------
    loss : {"logistic", "softmax", "hinge", "squared_hinge", "multiclass_hinge", "square"} or Loss, default="auto"
        "auto": logistic for two classes, otherwise softmax. Losses of signs have one output for each class.
    fit_intercept : bool, default=True
        Add an intercept b from the class frequencies, which is not regularized. The published method has none.
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,), the constant b with the least loss on the targets
    dual_coef_ : ndarray, shape (n_blocks, width, n_outputs)
    n_blocks_, n_reused_, n_iter_, n_random_features_ : int
    report_ : dict

    See Also
    --------
    shallows.solvers.DoublyStochastic : The settings of the solver.

    References
    ----------
    B. Dai et al. (2014), "Scalable kernel methods via doubly stochastic gradients", NIPS 27. C.-L. Li and B. Póczos
    (2016), "Utilize old coordinates: faster doubly stochastic gradients for kernel methods", UAI.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from shallows import DoublyStochasticClassifier
    >>> from shallows.solvers import DoublyStochastic
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DoublyStochasticClassifier(solver=DoublyStochastic(max_epochs=20), random_state=0)
    >>> model.fit((X - X.mean(axis=0)) / X.std(axis=0), y).n_iter_ > 0
    True
    """

    __init__ = with_parameters(RandomFeatureExpansion.__init__, fit_intercept=True, class_weight=None)

    def partial_fit(  # type: ignore[override]  # `classes` comes third, as in scikit-learn
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
        """Continue with more rows, each used once. See "Streams" in the method guide.

        Parameters
        ----------
        X : array-like, memory map, or iterable of batches
            An array is read in slices, one step each. An iterable gives ``(X, y)`` or ``(X, y, sample_weight)``.
        y : array-like, optional
            Labels, if X is an array.
        classes : array-like, optional
            All labels that may come; the first call needs them. For several labels per row: the column numbers of y.
        sample_weight : array-like, optional
        n_iter : int, optional
            Most batches.
        max_seconds : float, optional
            Time limit of the training.
        observers : sequence of shallows.training.Observer
        checkpoint : shallows.training.Checkpoint, optional

        Raises
        ------
        ValueError, ShallowsError, DivergenceError
            Wrong values or labels in a batch, whose number the message gives, no batch, or a loss that explodes.
        """
        refuse_missing_labels(classes, "classes")
        refuse_balanced(self.class_weight)
        if classes is None and not hasattr(self, "_stream"):
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels that may come, because the first "
                "batch may not have all of them."
            )
        return self._partial_fit(X, y, classes, sample_weight, StreamCall(n_iter, max_seconds, observers, checkpoint))

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> StreamedClasses:
        loss = None if self._chooses_loss() else losses.make(self.loss)
        targets = StreamedClasses.of_stream(y, classes, loss, fit_intercept=self.fit_intercept)
        check_classes(targets.classes, self.class_weight)
        return targets

    def _store(self, stream: StreamState, run: training.Run | None, seconds: dict[str, float]) -> None:
        super()._store(stream, run, seconds)
        self.classes_ = self._targets.classes

    def _chooses_loss(self) -> bool:
        return isinstance(self.loss, str) and self.loss == "auto"

    def _named_loss(self) -> losses.Loss:
        """The loss of the parameters; "auto" may still become softmax."""
        return losses.Logistic() if self._chooses_loss() else losses.make(self.loss)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._refuse_loss(
            "classes", "DoublyStochasticRegressor", lambda loss: loss.for_classes or loss.name == "square"
        )

    @property
    def intercept_(self) -> np.ndarray:
        """b, shape (n_outputs,)."""
        if not hasattr(self, "_stream"):
            raise AttributeError("intercept_ is available after fit.")
        problem = self._model.plan.problem
        b = self._state.intercept(problem)
        return np.zeros(problem.n_outputs) if b is None else arrays.to_numpy(b)
