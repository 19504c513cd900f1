"""The autoencoder of extreme learning machines, as a transformer to be stacked."""

from typing import Any, ClassVar, cast

from ... import arrays, features
from ...errors import UnknownNameError
from ...features.hidden_units import OF_PRODUCTS
from ...fitting.autoencoder import fit_autoencoder
from ...fitting.machine import Options
from ...kernels import Kernel
from ...utils.checks import check_choice, check_positive, check_whole
from ..constructors import stores_parameters
from ..feature_maps.base import STRIP_BYTES, FeatureMapTransformer


class ExtremeLearningMachineAutoencoder(FeatureMapTransformer):
    """A layer of a multilayer extreme learning machine: hidden units whose weights reconstruct the inputs.

    An extreme learning machine with orthogonal random weights, x ↦ h(x) = g(Ax + b), learns to return its inputs: β =
    (HᵀH + λI)⁻¹ HᵀX. The features are g(βx), or βx if the numbers of units and inputs are equal. The multilayer
    machine is a pipeline of several of them with `FeatureRidgeClassifier` at the end. No layer is trained further.

    With ``penalty="l1"`` there is no closed form. FISTA takes up to 1,000 steps, and with more units than rows it may
    stop before the minimum. On digits such layers were neither better nor worse than with "l2".

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.given_units.GivenUnits
    report_ : dict

    See Also
    --------
    HiddenUnits : Random units that are not trained at all.

    References
    ----------
    L. L. C. Kasun, H. Zhou, G.-B. Huang and C. M. Vong (2013), "Representational learning with extreme learning machine
    for big data", IEEE Intelligent Systems 28. J. Tang, C. Deng and G.-B. Huang (2016), "Extreme learning machine for
    multilayer perceptron", IEEE TNNLS 27 (the ℓ₁ penalty).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import FeatureRidgeClassifier
    >>> from shallows.kernel_approximation import ExtremeLearningMachineAutoencoder
    >>> X, y = load_digits(return_X_y=True)
    >>> layers = [ExtremeLearningMachineAutoencoder(n_units=64, random_state=0) for _ in range(2)]
    >>> model = make_pipeline(*layers, FeatureRidgeClassifier("hidden_units", random_state=0))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    # For the median rule and for centered points; units have no kernel.
    kernel = "gaussian"
    _other_names: ClassVar = {"C": ("alpha", "which is 1/C")}

    @stores_parameters
    def __init__(
        self,
        activation: str = "sigmoid",
        *,
        n_units: int = 1000,
        alpha: float = 1.0,
        penalty: str = "l2",
        bandwidth: float | str = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        activation : {"sigmoid", "tanh", "hard_limit", "cosine"}, default="sigmoid"
            g.
        n_units : int, default=1000
            Units of the layer.
        alpha : float, default=1.0
            λ: minimized is λ/2 ‖β‖² + ½ Σᵢ ‖xᵢ − βᵀh(xᵢ)‖². The published C is 1/λ.
        penalty : {"l2", "l1"}, default="l2"
            "l1" has Σ |βⱼₖ| instead of ½ ‖β‖²: a unit then joins only some of the inputs, fewer for a larger λ.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X; x are the centered inputs times √d/σ. "median" and, alone, "auto": the median
            distance.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """

    @property
    def n_features(self) -> int:
        """The parameter that is checked as the number of features."""
        return self.n_units

    def _check_parameters(self) -> None:
        UnknownNameError.check("activation", self.activation, OF_PRODUCTS)
        check_whole(self, "n_units")
        check_positive(self, "alpha")
        check_choice(self, penalty=("l2", "l1"))
        super()._check_parameters()

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        return fit_autoencoder(
            X,
            centering=self._centering,
            activation=self.activation,
            n_units=self.n_units,
            alpha=self.alpha,
            penalty=self.penalty,
            bandwidth=cast(float, kernel.bandwidth),  # which `_fit` has chosen
            seed=seed,
            dtype=self._dtype,
            device=device,
            budget=budget,
            strip_bytes=STRIP_BYTES,
        )
