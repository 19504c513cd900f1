"""Kernel stochastic gradient descent with the square loss, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import training
from ...fitting.kernel_ridge import fit_kernel_ridge
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel
from ...ranks import Alone
from ...solvers.least_squares.kernel_sgd import KernelSGD
from ...solvers.settings import settings_of
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import KernelLeastSquares, SquareLossLabels


class KernelSGDMachine(KernelLeastSquares):
    """Parameters and fit of kernel SGD, for classes and for values."""

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        calibration: str | None = "auto",
        batch_size: int | None = None,
        shuffle: bool = False,
        step_size: float | None = None,
        step_rule: str = "certified",
        max_epochs: int = 100,
        max_seconds: float | None = None,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _train(
        self,
        rows: TrainingSet,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        ranks: Alone,
    ) -> FittedFunction:
        return fit_kernel_ridge(
            rows,
            of_classes=not self._y_is_numeric,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_components=None,
            regularisation=None,
            calibrates=self.calibration is not None,
            solver=settings_of(KernelSGD, self),
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self._warm_start_parameters(), vars(self).get("_ended")),
            seed=self._seed(),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        settings_of(KernelSGD, self).check()


class KernelSGDClassifier(SquareLossLabels, KernelSGDMachine):
    """Classification by kernel stochastic gradient descent with the square loss.

    The baseline that Ma and Belkin (2017) call Pegasos, without regularisation.

    It is EigenPro without a preconditioner: `EigenProClassifier` with ``rank=0``, ``n_subsample=1``,
    ``regularisation=0`` and the same bandwidth and batches takes the same steps, but conjugate residuals where an epoch
    has few batches. It is a class of its own for the defaults of a baseline, each of which would be an exception in
    EigenPro: batches of the critical size, gradients however few the batches are, no λ, the median bandwidth, 100
    epochs.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    bandwidth : float, "median" or None, default=None
        σ, in the units of the features, of the kernels that have one. "median" and None take the median distance
        between points of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    batch_size : int, optional
        m, the rows of a step. None takes β/μ, beyond which larger batches no longer pay, and 16 at least: β is the
        largest value of the kernel's diagonal, μ the largest eigenvalue of its matrix over n.
    shuffle : bool, default=False
        Draw the rows of each batch anew in every epoch, as scikit-learn's `SGDClassifier` and the authors' release do.
        False shuffles the rows once, and the same batches come in a new order in every epoch: consecutive rows of the
        kernel matrix are read faster, and training comes closer to its targets.
    step_size : float, optional
        η, for a sum over the batch, constant. None takes the step by ``step_rule``, and an epoch in which training
        diverges is then repeated with half of it.
    step_rule : {"certified", "constant"}, default="certified"
        "certified" is the rule of `EigenProClassifier` with nothing flattened. Where batches are hardly noisy, the
        steps vary about 2/(β + (m − 1)μ), the edge of stability; else the step is constant and the model is an
        average of the iterates that lies half an epoch behind (`shallows.solvers.least_squares.step_rules.Certified`).
        Few batches do not go through conjugate residuals here: the method stays a method of gradients. "constant" is
        1.5/(β + (m − 1)μ), as in the release of Ma and Belkin (2017), and the model is the last iterate. β and μ are
        measured on training points.
    max_epochs : int, default=100
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    See Also
    --------
    EigenProClassifier : the same with the top of the spectrum flattened; many times fewer epochs.
    """

    __init__ = with_parameters(KernelSGDMachine.__init__, class_weight=None)


class KernelSGDRegressor(ValuePredictions, KernelSGDMachine):
    """Regression by kernel stochastic gradient descent with the square loss, without regularisation.

    It is EigenPro without a preconditioner: `EigenProRegressor` with ``rank=0``, ``n_subsample=1``,
    ``regularisation=0`` and the same bandwidth and batches takes the same steps, but conjugate residuals where an epoch
    has few batches. It is a class of its own for the defaults of a baseline, each of which would be an exception in
    EigenPro: batches of the critical size, gradients however few the batches are, no λ, the median bandwidth, 100
    epochs.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    bandwidth : float, "median" or None, default=None
        σ, in the units of the features, of the kernels that have one. "median" and None take the median distance
        between points of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    batch_size : int, optional
        m, the rows of a step. None takes β/μ, beyond which larger batches no longer pay, and 16 at least: β is the
        largest value of the kernel's diagonal, μ the largest eigenvalue of its matrix over n.
    shuffle : bool, default=False
        Draw the rows of each batch anew in every epoch, as scikit-learn's `SGDClassifier` and the authors' release do.
        False shuffles the rows once, and the same batches come in a new order in every epoch: consecutive rows of the
        kernel matrix are read faster, and training comes closer to its targets.
    step_size : float, optional
        η, for a sum over the batch, constant. None takes the step by ``step_rule``, and an epoch in which training
        diverges is then repeated with half of it.
    step_rule : {"certified", "constant"}, default="certified"
        "certified" is the rule of `EigenProClassifier` with nothing flattened. Where batches are hardly noisy, the
        steps vary about 2/(β + (m − 1)μ), the edge of stability; else the step is constant and the model is an
        average of the iterates that lies half an epoch behind (`shallows.solvers.least_squares.step_rules.Certified`).
        Few batches do not go through conjugate residuals here: the method stays a method of gradients. "constant" is
        1.5/(β + (m − 1)μ), as in the release of Ma and Belkin (2017), and the model is the last iterate. β and μ are
        measured on training points.
    max_epochs : int, default=100
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    See Also
    --------
    EigenProRegressor : the same with the top of the spectrum flattened; many times fewer epochs.
    """
