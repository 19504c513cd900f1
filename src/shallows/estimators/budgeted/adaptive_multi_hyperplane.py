"""The adaptive multi-hyperplane machine as an estimator."""

from collections.abc import Callable
from typing import Any

from ...fitting.budgeted import FittedBudgeted, fit_multi_hyperplane
from ...solvers.budgeted.multi_hyperplane import MultiHyperplane
from ..constructors import stores_parameters
from .budgeted_machine import BudgetedMachine


class AMMClassifier(BudgetedMachine):
    """Adaptive multi-hyperplane machine: a linear machine with several hyperplanes for each class.

    The score of a class is the largest score of its hyperplanes, so that boundaries consist of linear pieces. Training
    and prediction cost as much as for a linear machine with this number of outputs. The data decide the number of
    hyperplanes, and small ones are pruned. Subgradient steps of one example each minimize
    λ/2 ‖W‖² + (1/n) Σ max(0, 1 + max_{c≠y} g(c, xᵢ) − w_{y,z}ᵀxᵢ) for the hyperplane z that an example is assigned to.

    Parameters
    ----------
    n_hyperplanes : int, default=20
        Most hyperplanes of each class.
    method : {"batch", "online"}, default="batch"
        Assign an example to the hyperplane of its class that was best in the previous epoch, or that is best now. The
        first epoch and `partial_fit` are always "online".
    regularization : float or "auto", default="auto"
        λ, and C = 1/(λn). "auto": 1/n, which is C = 1; for a model that begins with `partial_fit` 1e-4.
    max_epochs : int, default=10
        Passes over the training data. The paper uses one for "online".
    prune_every : int, default=10000
        Examples between two prunings.
    pruning : float, default=10.0
        c: after t examples, the smallest hyperplanes with a sum of squared norms up to (c/(λt))² are removed, except
        the largest of each class. 0 removes only zero hyperplanes.
    constant : float, default=1.0
        Value of an additional feature for the offsets, which are regularized; 0: no offsets. With it, columns with a
        mean over 100 times the points' deviation are centered.
    reserve : bool, default=False
        Give every class a zero hyperplane in training, as in the paper, so that no score is below 0. False: only the
        class of the example, as in the authors' toolbox.
    class_weight : dict or "balanced", optional
    random_state : int, RandomState or None, default=None
    options : Options, optional
        Memory, time limit of the training and progress. Steps are taken on the CPU and in float64.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (all hyperplanes, n_features)
    intercept_ : ndarray, shape (all hyperplanes,)
    hyperplane_classes_ : ndarray of int, shape (all hyperplanes,), indices in ``classes_``
    regularization_ : float
    n_steps_, n_epochs_ : int
    options_ : Options
    report_ : dict
        Also the violations and the sum of the pruned squared norms.

    See Also
    --------
    shallows.LinearSVMClassifier : One hyperplane for each class.
    BudgetedSVMClassifier : A kernel machine with a budget of support vectors.

    References
    ----------
    Z. Wang, N. Djuric, K. Crammer and S. Vucetic (2011), "Trading representability for scalability: adaptive
    multi-hyperplane machine for nonlinear classification", KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.svm import AMMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AMMClassifier(random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.85)
    True
    """

    @stores_parameters
    def __init__(
        self,
        n_hyperplanes: int = 20,
        *,
        method: str = "batch",
        regularization: float | str = "auto",
        max_epochs: int = 10,
        prune_every: int = 10000,
        pruning: float = 10.0,
        constant: float = 1.0,
        reserve: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
        options: Any = None,
    ): ...

    def _solver(self) -> MultiHyperplane:
        return MultiHyperplane(
            method=self.method,
            n_hyperplanes=self.n_hyperplanes,
            prune_every=self.prune_every,
            pruning=self.pruning,
            constant=self.constant,
            reserve=self.reserve,
            max_epochs=self.max_epochs,
        )

    def _fit_function(self) -> Callable[..., FittedBudgeted]:
        return fit_multi_hyperplane

    def _describe(self, model: Any) -> None:
        self.coef_, self.intercept_, self.hyperplane_classes_ = model.coef, model.intercept, model.classes
