"""Support vector machine by LASVM, online."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from ... import arrays, streams, training
from ...fitting import leave_one_out_choice
from ...fitting.parameter_checks import check_whole
from ...fitting.rows import TrainingSet
from ...models import precomputed
from ...solvers.support_vectors.lasvm import LASVM, ExampleProblem, LASVMState
from .. import model_classes
from ..constructors import with_parameters
from ..streaming import first_rows
from ..streaming.labelled_batches import LabelledBatches
from ..streaming.stream_batches import Batch
from .dual_classifier import DualClassifier, two_class_problems
from .dual_model import DualFit

BATCH = 64
"""Examples whose kernel values are computed together."""

LARGE_GAP = 0.25
"""Share of the primal objective by which one pass may leave the dual one below it without a warning; 0.02 is usual."""


class LASVMClassifier(DualClassifier, LabelledBatches):
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

    _infers_classes = True

    _compares_at_its_C = True
    __init__ = with_parameters(DualClassifier.__init__, max_epochs=1, finish=True, tol=1e-3, max_iterations=None)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, "max_epochs")
        precomputed.refuse(self, "It keeps the points of the examples at hand and makes their kernel values itself.")

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        for name in ("_model", "_states"):
            vars(self).pop(name, None)
        self._check_parameters()
        data = self._validated_training_set(X, y, sample_weight)
        self._n_seen, (X, y, weights, numbers, _) = _num_samples(X), data
        y = model_classes.learn(self, y)
        self._begin(X, y, weights)
        self._show(X, y, weights, numbers, self.max_epochs)
        first_rows.end_beginning(self, len(y))
        if self.finish:
            most = self._most_steps(len(y))
            for state in self._states:
                LASVM(float(self.tol)).finish(state, most)
                if state.gap > self.tol:
                    self._warn_of_limit(most, "steps", state.gap)
        self._keep_states()
        self._check_all_rows(X, y, weights)

    def _check_all_rows(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Compare primal and dual objectives over all training rows, and warn of a large gap."""
        outputs, numbers = self._outputs(X), np.searchsorted(self.classes_, y)
        weights = np.ones(len(y)) if weights is None else weights
        gaps = []
        for k, two in enumerate(two_class_problems(numbers, weights, len(self.classes_), self.multiclass)):
            missed = np.maximum(0.0, 1.0 - two.signs * outputs[two.rows, k])
            # ½ ‖f‖² is Σ αᵢ less the dual objective.
            primal = np.abs(self.dual_coef_[:, k]).sum() - self.objectives_[k] + self.C * float(two.weights @ missed)
            gaps.append(1.0 - self.objectives_[k] / primal)
        self.effective_params_["relative_gap"] = float(max(gaps))
        if max(gaps) > LARGE_GAP:
            left = (
                f"After max_epochs={self.max_epochs} the dual objective is still {max(gaps):.0%} below the primal one"
            )
            self._warn(f"{left}: rows that were dropped count after all", "take a larger max_epochs")

    def _batch(self, data: TrainingSet, n_given: int) -> Batch:
        n_before = getattr(self, "_n_seen", 0)
        self._n_seen = n_before + n_given
        return *data[:3], n_before + data.rows

    def _learn(self, batch: Batch, *, begins: bool) -> None:
        if begins:
            self._begin(*batch[:3])
        else:
            # Steps change the states in place. Where one fails, the estimator keeps the states of before.
            self._states = copy.deepcopy(self._states)
        self._show(*batch, 0)
        self._keep_states()
        self.effective_params_["n_rows_begun_with"] = self._n_begun

    # -------------------------------------------------------------------------------------- the machines

    def _weights_of(self, fit: DualFit) -> np.ndarray | None:
        return fit.data.weights

    def _begin(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        """The kernel, the shift of the points, and machines without examples."""
        arrays.memory_budget(self.memory)  # refused where it is no size
        self._drawn_seed = self._seed()
        fit = DualFit(TrainingSet(X, y, weights, np.arange(len(y))), self._drawn_seed, arrays.Device("cpu"))
        fit.codes = leave_one_out_choice.class_codes(np.searchsorted(self.classes_, y), len(self.classes_))
        fit.dtype = np.dtype(self._precision(fit) if self.dtype == "auto" else self.dtype)
        self._prepare(fit)
        self._build(fit)
        self._kernel, self._selection = fit.kernel, leave_one_out_choice.report(fit.choice)
        # Rows that come later may differ in a feature that is constant in these.
        self._centring = replace(self._centring, varies=np.ones(X.shape[1], dtype=bool))
        k = len(self.classes_)
        n_machines = 1 if k == 2 else k if self.multiclass == "one_vs_rest" else k * (k - 1) // 2
        none = self._centring.training_points(X, np.arange(0), fit.device, self._dtype)
        self._states = [LASVMState.empty(none) for _ in range(n_machines)]

    def _show(
        self, X: Any, y: np.ndarray, weights: np.ndarray | None, numbers_of_rows: np.ndarray, n_epochs: int
    ) -> None:
        """Show the examples to every machine: in new orders in so many epochs, or with 0 once in their own.

        ``numbers_of_rows`` count all rows that the user gave, of which those of weight zero are left out.
        """
        n, seed = len(y), self._drawn_seed
        weights = np.ones(n) if weights is None else weights
        points = self._centring.training_points(X, np.arange(n), arrays.Device("cpu"), self._dtype)
        numbers = np.searchsorted(self.classes_, y)
        machines = two_class_problems(numbers, weights, len(self.classes_), self.multiclass)
        for state, two in zip(self._states, machines, strict=True):
            for epoch in range(max(1, n_epochs)):
                m = len(two.rows)
                if not m:
                    continue
                order = streams.permutation(seed, "order", epoch, m) if n_epochs else np.arange(m)
                rows = two.rows[order]
                problem = ExampleProblem(
                    self._kernel, points[rows], two.signs[order], self.C * two.weights[order], numbers_of_rows[rows]
                )
                training.train(
                    LASVM(float(self.tol)),
                    problem,
                    InTheirOrder(m, BATCH),
                    training.Stopping(1),
                    observers=self._progress_observers(),
                    state=state,
                )

    def _keep_states(self) -> None:
        """Make one function of the support vectors of all machines."""
        held = [np.flatnonzero(state.coefficients) for state in self._states]
        numbers = [state.numbers[slots] for state, slots in zip(self._states, held, strict=True)]
        support, places = np.unique(np.concatenate(numbers), return_index=True)
        stacked = np.concatenate([state.points[slots] for state, slots in zip(self._states, held, strict=True)])
        coefficients = np.zeros((len(support), len(self._states)))
        for column, (state, slots, of) in enumerate(zip(self._states, held, numbers, strict=True)):
            coefficients[np.searchsorted(support, of), column] = state.coefficients[slots]
        intercepts = np.array([state.intercept for state in self._states])
        self._keep(self._kernel, stacked[places], support, coefficients, intercepts)
        self.objectives_ = np.array([state.objective for state in self._states])
        self.n_iter_ = sum(state.n_steps for state in self._states)
        self.n_kernel_evaluations_ = sum(state.n_evaluations for state in self._states)
        self.effective_params_ = {
            "kernel": self._kernel.name,
            "bandwidth": self._kernel.bandwidth,
            "n_support": len(self.support_),
            "n_problems": len(self._states),
            "n_steps": self.n_iter_,
            "gap": max(state.gap for state in self._states),
            "precision": self._dtype.name,
            "device": str(arrays.resolve_device(self.device)),
            "seed": self._drawn_seed,
            **self._selection,
        }


class InTheirOrder(training.Batches):
    """Batches from the first row to the last, once."""

    def __init__(self, n: int, size: int):
        super().__init__(n, size, 0)

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches, in their order."""
        return list(arrays.blocks(self.n, self.size))
