"""A support vector machine with the Gaussian kernel and a budget of support vectors."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...fitting.budgeted import FittedBudgeted, fit_budgeted_svm
from ...solvers.budgeted.budgeted_sgd import BudgetedSGD
from ..constructors import stores_parameters
from .budgeted_machine import BudgetedMachine


class BudgetedSVMClassifier(BudgetedMachine):
    """Support vector machine with the Gaussian kernel and a budget of support vectors, by stochastic gradient descent.

    Pegasos on a kernel with one example in each step: f ← (1 − 1/t) f, plus a kernel function at the example if its
    hinge loss is positive. If the budget is exceeded, the support vector with the smallest coefficients goes. Two
    classes have one function; otherwise each class has one, with the loss of Crammer and Singer. Columns with a mean
    over 100 times the points' deviation are centered.

    Parameters
    ----------
    budget : int, optional
        Most support vectors. None: 100. It is never above the number of training rows; a larger value warns.
    bandwidth : float, "auto" or "median", default="auto"
        σ of exp(−‖x − z‖²/(2σ²)). "auto": smallest leave-one-out error of kernel ridge regression with nλ on 400 to
        1,000 rows. "median": the median distance.
    regularization : float or "auto", default="auto"
        λ, and C = 1/(λn). "auto": 1/n, which is C = 1; for a model that begins with `partial_fit` 1e-4.
    maintenance : {"merging", "projection", "removal"}, default="merging"
        Merge the smallest support vector with another, project it onto the others (slow), or drop it.
    line_search : {"auto", "golden_section", "lookup"}, default="auto"
        Losses of merging: by a search for each pair, or from a table (two classes only). "auto": the table if possible.
    max_epochs : int, default=5
        Passes over the training data. Few rows need more: with 900 rows, 20 passes gave 83 % accuracy and five 68 %.
    class_weight : dict or "balanced", optional
    random_state : int, RandomState or None, default=None
    options : Options, optional
        Memory, time limit of the training and progress. Steps are taken on the CPU and in float64.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_vectors_ : ndarray, shape (n_support, n_features); merged ones are not training points
    dual_coef_ : ndarray, shape (n_outputs, n_support)
    bandwidth_, regularization_ : float
    n_steps_, n_epochs_ : int
    options_ : Options
    report_ : dict
        Also the violations and the squared norm lost to the budget.

    See Also
    --------
    shallows.KernelSVMClassifier : Exact solutions, with any number of support vectors.
    LowRankLinearizedSVMClassifier : A budget of landmarks instead, and any kernel.

    References
    ----------
    Z. Wang, K. Crammer and S. Vucetic (2012), "Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training", JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.svm import BudgetedSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BudgetedSVMClassifier(budget=200, bandwidth=25.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9), len(model.support_vectors_)
    (True, 200)
    """

    @stores_parameters
    def __init__(
        self,
        budget: int | None = None,
        *,
        bandwidth: float | str = "auto",
        regularization: float | str = "auto",
        maintenance: str = "merging",
        line_search: str = "auto",
        max_epochs: int = 5,
        class_weight: Any = None,
        random_state: Any = None,
        options: Any = None,
    ): ...

    def _solver(self) -> BudgetedSGD:
        return BudgetedSGD(
            budget=self.budget,
            maintenance=self.maintenance,
            line_search=self.line_search,
            max_epochs=self.max_epochs,
        )

    def _fit_function(self) -> Callable[..., FittedBudgeted]:
        return partial(fit_budgeted_svm, bandwidth=self.bandwidth)

    def _describe(self, model: Any) -> None:
        self.support_vectors_, self.dual_coef_ = model.support_vectors, model.coefficients.T
        self.bandwidth_ = model.bandwidth
