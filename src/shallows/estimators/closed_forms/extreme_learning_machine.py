"""The extreme learning machine: hidden units with random weights and outputs in closed form."""

from __future__ import annotations

from typing import Any

from ...errors import UnknownNameError
from .. import leave_one_out_choice
from ..constructors import stores_parameters, with_parameters
from ..feature_maps.hidden_units import HiddenUnits, check_units
from .feature_least_squares import FeatureLeastSquaresClassifier, FeatureLeastSquaresRegressor
from .normal_equations import FORMS


class _ExtremeLearningMachine:
    @stores_parameters
    def __init__(
        self,
        activation: str = "sigmoid",
        *,
        n_units: int | tuple[int, ...] = 1000,
        C: float | str = "auto",
        bandwidth: float | str | None = "auto",
        form: str = "auto",
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_units(self.activation, self.n_units)
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        leave_one_out_choice.check_or_auto(self, "C")
        UnknownNameError.check("form", self.form, FORMS)

    def _make_transformer(self, seed: int, bandwidth: float | None = None) -> HiddenUnits:
        return HiddenUnits(
            self.activation,
            n_units=self.n_units,
            bandwidth=bandwidth if self._searches() else self.bandwidth,
            random_state=seed,
            device=self.device,
            memory=self.memory,
            dtype=self.dtype,
        )

    def _searches(self) -> bool:
        return leave_one_out_choice.is_automatic(self.bandwidth)

    def _ridge(self) -> float | None:
        return None if leave_one_out_choice.is_automatic(self.C) else 1.0 / self.C

    def _form(self) -> str:
        return self.form


class ExtremeLearningMachineClassifier(_ExtremeLearningMachine, FeatureLeastSquaresClassifier):
    """Classification by hidden units with random weights and least squares on ±1 targets.

    The hidden weights are drawn and stay as they are; the weights of the outputs are those of ridge regression on the
    units, in closed form. There is no constant among the units. With cosines this is ridge regression on random
    Fourier features of the Gaussian kernel. Several layers are layers of random units, of which the last is read out.

    Parameters
    ----------
    activation : {"sigmoid", "tanh", "gaussian", "multiquadric", "hard_limit", "cosine"}, default="sigmoid"
        Of aᵀx + b with weights a of deviation 1/σ, or for "gaussian" and "multiquadric" of ‖x − a‖ with centres a that
        have the training points' means and deviations.
    n_units : int or tuple of int, default=1000
        Units of the layer, or of each layer: a layer takes the centred and scaled outputs of the one before.
    C : float or "auto", default="auto"
        Weight of the squared errors: minimised is ½ ‖β‖² + (C/2) Σᵢ wᵢ ‖tᵢ − βᵀh(xᵢ)‖². Its reciprocal is the ridge.
        "auto" chooses it, and the bandwidth, by the leave-one-out errors on up to 1,000 rows in closed form.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the inputs. "auto" chooses it from the training points; None and "median" take the median
        distance between points of a subsample.
    form : {"auto", "features", "rows"}, default="auto"
        Which closed form is computed: (HᵀH + I/C)⁻¹ HᵀT, of as many equations as units; Hᵀ(HHᵀ + I/C)⁻¹ T, of as many
        as rows; or the smaller of the two. They are equal.
    fit_intercept : bool, default=True
        Learn f about the weighted mean of the targets −1 and +1, which is not regularised: where the inputs tell
        nothing, probabilities are then the class frequencies. False learns f about 0, as the method was published.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the features. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; the system of equations is solved in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the training points.
    verbose : int, default=0
        Without effect, since there is one system to solve; here so that all estimators take it.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features_out)
    transformer_ : HiddenUnits
        The fitted features.
    n_iter_ : int
        1, or the iterations of conjugate gradients where features are sparse and rows many.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the ridge and the form of the system solved;
        ``selection`` tells by which errors bandwidth and ridge were chosen, and what is as good.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    G.-B. Huang, H. Zhou, X. Ding and R. Zhang (2012), "Extreme learning machine for regression and multiclass
    classification", IEEE Transactions on Systems, Man, and Cybernetics B 42.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import ExtremeLearningMachineClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ExtremeLearningMachineClassifier(random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9)
    True
    """

    __init__ = with_parameters(_ExtremeLearningMachine.__init__, fit_intercept=True, class_weight=None)


class ExtremeLearningMachineRegressor(_ExtremeLearningMachine, FeatureLeastSquaresRegressor):
    """Regression by hidden units with random weights and least squares about the mean of the targets.

    The hidden weights are drawn and stay as they are; the weights of the outputs are those of ridge regression on the
    units, in closed form. There is no constant among the units. With cosines this is ridge regression on random
    Fourier features of the Gaussian kernel. Several layers are layers of random units, of which the last is read out.

    Parameters
    ----------
    activation : {"sigmoid", "tanh", "gaussian", "multiquadric", "hard_limit", "cosine"}, default="sigmoid"
        Of aᵀx + b with weights a of deviation 1/σ, or for "gaussian" and "multiquadric" of ‖x − a‖ with centres a that
        have the training points' means and deviations.
    n_units : int or tuple of int, default=1000
        Units of the layer, or of each layer: a layer takes the centred and scaled outputs of the one before.
    C : float or "auto", default="auto"
        Weight of the squared errors: minimised is ½ ‖β‖² + (C/2) Σᵢ wᵢ ‖tᵢ − βᵀh(xᵢ)‖². Its reciprocal is the ridge.
        "auto" chooses it, and the bandwidth, by the leave-one-out errors on up to 1,000 rows in closed form.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the inputs. "auto" chooses it from the training points; None and "median" take the median
        distance between points of a subsample.
    form : {"auto", "features", "rows"}, default="auto"
        Which closed form is computed: (HᵀH + I/C)⁻¹ HᵀT, of as many equations as units; Hᵀ(HHᵀ + I/C)⁻¹ T, of as many
        as rows; or the smaller of the two. They are equal.
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the features. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; the system of equations is solved in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the training points.
    verbose : int, default=0
        Without effect, since there is one system to solve; here so that all estimators take it.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features_out)
    transformer_ : HiddenUnits
        The fitted features.
    n_iter_ : int
        1, or the iterations of conjugate gradients where features are sparse and rows many.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the ridge and the form of the system solved;
        ``selection`` tells by which errors bandwidth and ridge were chosen, and what is as good.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    G.-B. Huang, H. Zhou, X. Ding and R. Zhang (2012), "Extreme learning machine for regression and multiclass
    classification", IEEE Transactions on Systems, Man, and Cybernetics B 42.
    """
