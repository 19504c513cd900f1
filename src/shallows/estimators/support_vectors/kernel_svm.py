"""Support vector machine by a solver of choice: SMO, decomposition, interior point, Newton's method in the primal."""

from __future__ import annotations

from ...errors import ShallowsError
from ...fitting.checks import check_choice
from ...solvers import settings
from ...solvers.support_vectors import SOLVERS
from ...solvers.support_vectors.dual_problem import DualSettings
from ..constructors import with_parameters
from .classifier import SupportVectorClassifier


class KernelSVMClassifier(SupportVectorClassifier):
    """Support vector machine with any kernel, solved to the end by a solver of choice.

    For two classes it minimises ½ ‖f‖² + C Σ wᵢ ℓ(yᵢ(f(xᵢ) + b)), as LIBSVM, and scikit-learn's SVC, do for the hinge.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    solver : {"smo", "decomposition", "interior_point", "newton"}, default="smo"
        How the machine is trained. The first two keep rows of the kernel matrix. The others hold all of it, in double
        precision and twice, and refuse more rows than the memory has room for.

        - "smo": sequential minimal optimisation, two dual variables at a time; the fastest on most data.
        - "decomposition": SVM-light's method, several dual variables at a time.
        - "interior_point": about ten iterations whatever C is, each with a Cholesky factor of the whole matrix: for few
          rows, large C and many digits.
        - "newton": Newton's method on the primal problem of the squared hinge, with systems of the size of the support
          vectors.
    solver_params : dict, optional
        Parameters of the solver, by name.

        - "smo", "decomposition": ``cache`` ("500MB"), bytes of the rows of the kernel matrix that are kept at a time;
          those of a step are always kept. ``shrinking`` (True), whether rows that stay at a bound are left out of the
          search for a while; the solution is the same within ``tol``.
        - "decomposition": ``working_set`` (10), the dual variables of a step, an even number.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression with
        λ = 1/C on 400 to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    C : float, default=1.0
        The factor of the losses' sum. λ of a mean of losses with λ/2 ‖f‖² is 1/(C n).
    loss : {"auto", "hinge", "squared_hinge"}, default="auto"
        max(0, 1 − z) or ½ max(0, 1 − z)² of the margin z. "auto" takes the hinge where the solver can.
    multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        A machine for each pair of classes, which vote, or for each class against all others.
    tol : float, default=1e-3
        By how much the conditions of optimality may be violated, in units of the targets ±1 ("smo", "decomposition");
        how far the primal objective may lie above the dual one, as a share of it ("interior_point" and "newton", for
        which no coefficient may be off from the derivative of its loss by more than this share of C either).
    max_iterations : int, optional
        The most steps, working sets or iterations for two classes. None takes 300 iterations of the solvers that factor
        matrices, and of the others 10,000,000 steps, as LIBSVM does, or 100 n where that is more; working sets are as
        many, divided by their size.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the rows that the bandwidth is chosen with, and the parts that Newton's method begins with.
        The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where kernel values are made; "auto" takes a GPU where CuPy finds one. The solvers run on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the rows that are kept, and of the model. "auto" means float32, and float64 for up to 1,000
        points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with coefficients other than zero in any machine.
    dual_coef_ : ndarray, shape (n_support, n_problems)
        βᵢ = yᵢαᵢ of each machine: one for two classes, else for the pairs (0, 1), (0, 2), ..., (1, 2), ... or for the
        classes.
    intercept_ : ndarray, shape (n_problems,)
    objectives_ : ndarray, shape (n_problems,)
        The dual objective at the end.
    n_iter_ : int
        Steps, working sets or iterations.
    n_kernel_evaluations_ : int
        Kernel values that were computed for rows, or for matrices.
    bandwidth_ : float
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    R.-E. Fan, P.-H. Chen and C.-J. Lin (2005), "Working set selection using second order information for training
    support vector machines", JMLR 6. T. Joachims (1999), "Making large-scale SVM learning practical". M. C. Ferris and
    T. S. Munson (2002), "Interior-point methods for massive support vector machines", SIAM Journal on Optimization 13.
    O. Chapelle (2007), "Training a support vector machine in the primal", Neural Computation 19.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import KernelSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelSVMClassifier(bandwidth=20.0, C=10.0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(
        SupportVectorClassifier.__init__, solver="smo", solver_params=None, loss="auto", tol=1e-3, max_iterations=None
    )

    def _settings(self) -> DualSettings:
        shared = {"tol": self.tol, "max_iterations": self.max_iterations}
        return settings.make(SOLVERS, self.solver, self.solver_params, **shared)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        solver = self._settings()
        check_choice(self, loss=("auto", "hinge", "squared_hinge"))
        if self.loss not in ("auto", *solver.losses):
            raise ShallowsError(
                f"solver={self.solver!r} takes the loss 'squared_hinge', which has a derivative everywhere, not "
                f"{self.loss!r}."
            )
