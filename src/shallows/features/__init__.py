"""Explicit feature maps: streams of random Fourier features, radial basis functions, Nyström."""

from .fourier import FourierFeatures
from .landmarks import NystromFeatures, RBFNetwork
from .named import NAMES, make

__all__ = ["NAMES", "FourierFeatures", "NystromFeatures", "RBFNetwork", "make"]
