"""Transformers of points to explicit features of a kernel."""

from .estimators import public_names

__all__, __getattr__ = public_names(
    __name__,
    "ExtremeLearningMachineAutoencoder",
    "Fastfood",
    "FourierFeatures",
    "HiddenUnits",
    "NystroemFeatures",
    "PartialWhitening",
    "PolynomialFeatures",
    "QuasiMonteCarloFeatures",
    "RBFNetwork",
    "RandomBinning",
    "SemiRandomFeatures",
    "SparseRandomFeatures",
    "TensorSketch",
)
