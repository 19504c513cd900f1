"""Support vector machine by LASVM, online."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import _num_samples

from ... import training
from ...fitting.checks import check_whole
from ...fitting.lasvm import begin_machines, fit_lasvm, functions_of, visit_examples
from ...fitting.targets import Machines
from ...kernels import precomputed
from ...solvers.support_vectors.lasvm import LASVM
from ..constructors import with_parameters
from ..streaming import check_rows, end_beginning, rows_to_learn
from .classifier import SupportVectorClassifier


class LASVMClassifier(SupportVectorClassifier):
    """Support vector machine with any kernel by LASVM: online, nearly the exact solution after one pass.

    For two classes it minimises ½ ‖f‖² + C Σ wᵢ max(0, 1 − yᵢ(f(xᵢ) + b)), example by example: a step with the new one
    and a step with the best pair of those at hand. Examples whose coefficients are zero and stay there are dropped, so
    that memory and the cost of an example follow the number of support vectors.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; or a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`).
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression with
        λ = 1/C on 400 to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    C : float, default=1.0
        The factor of the losses' sum. λ of a mean of losses with λ/2 ‖f‖² is 1/(C n).
    multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        A machine for each pair of classes, which vote, or for each class against all others.
    max_epochs : int, default=1
        Passes of a fit over the training data, each in a new order.
    finish : bool, default=True
        End a fit with steps on the examples at hand until ``tol`` holds for these.
    tol : float, default=1e-3
        By how much the conditions of optimality may be violated, in units of the targets ±1.
    max_iterations : int, optional
        The most steps that end a fit, for two classes. None takes 10,000,000, or 100 n where that is more.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the examples in a fit and the rows that the bandwidth is chosen with. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where predictions are made; "auto" takes a GPU where CuPy finds one. The training is one of the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the kernel values. "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with coefficients other than zero in any machine; after ``partial_fit`` in the
        order of all rows so far.
    dual_coef_ : ndarray, shape (n_support, n_problems)
        βᵢ = yᵢαᵢ of each machine: one for two classes, else for the pairs (0, 1), (0, 2), ..., (1, 2), ... or for the
        classes.
    intercept_ : ndarray, shape (n_problems,)
    objectives_ : ndarray, shape (n_problems,)
        The dual objective Σ αᵢ − ½ ΣΣ αᵢαⱼyᵢyⱼk(xᵢ, xⱼ) at the end.
    n_iter_ : int
        Steps on two variables.
    n_kernel_evaluations_ : int
        Kernel values that were computed.
    bandwidth_ : float
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision, the device, the
        violation of the conditions of optimality at the examples at hand ("gap"), and after a fit the share by which
        the dual objective is below the primal one over all rows ("relative_gap").

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston and L. Bottou (2005), "Fast kernel classifiers with online and active learning",
    JMLR 6.
    """

    __init__ = with_parameters(
        SupportVectorClassifier.__init__, max_epochs=1, finish=True, tol=1e-3, max_iterations=None
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, "max_epochs")
        precomputed.refuse(self, "It keeps the points of the examples at hand and makes their kernel values itself.")

    def _lasvm(self) -> LASVM:
        """The settings of the solver."""
        return LASVM(max_epochs=self.max_epochs, finish=self.finish, tol=self.tol, max_iterations=self.max_iterations)

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of C. Rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range, or a kernel that is not positive semi-definite.
        """
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        found, self._machines = fit_lasvm(
            rows,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            C=self.C,
            solver=self._lasvm(),
            multiclass=self.multiclass,
            class_weight=self.class_weight,
            seed=self._seed(),
            options=self._options(),
            name=type(self).__name__,
        )
        self._store(found)
        self._n_seen = _num_samples(X)
        end_beginning(self, len(rows.rows))
        return self

    @training.keeps_model_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more rows, each visited once in order. The first 400 to 4,000 rows decide open parameters.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        classes : array-like, shape (n_classes,), optional
            All labels that may come. Without them, the first call uses the labels of its rows.
        sample_weight : array-like, shape (n_samples,), optional
            Factors of C. Rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, or an unknown label.
        ShallowsError
            A parameter out of its range, or ``class_weight="balanced"``, which needs all labels.
        """
        points, labels, weights, numbers = check_rows(self, X, y, classes, sample_weight, infers_classes=True)
        n_seen = getattr(self, "_n_seen", 0)
        rows, begins = rows_to_learn(self, (points, labels, weights, n_seen + numbers))
        self._n_seen = n_seen + _num_samples(X)
        options, name = self._options(), type(self).__name__
        if begins:
            targets = Machines(self.classes_, self.multiclass)
            given = self.kernel, self.bandwidth, self.kernel_params, self.C, self._seed(), options
            machines = begin_machines(*rows[:3], targets, *given)
        else:
            # Steps change the states in place. If one fails, the estimator keeps the states before it.
            machines = self._machines.copied()
        visit_examples(machines, *rows, self.C, self._lasvm(), 0, options.verbose, name)
        found = functions_of(machines, options.device)
        self._machines = machines
        self._store(replace(found, report={**found.report, "n_rows_begun_with": self._n_begun}))
        return self
