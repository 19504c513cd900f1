# What type checkers see of the names that are imported when they are first used.

from .estimators.closed_forms.extreme_learning_machine_autoencoder import (
    ExtremeLearningMachineAutoencoder as ExtremeLearningMachineAutoencoder,
)
from .estimators.feature_maps.fastfood import Fastfood as Fastfood
from .estimators.feature_maps.fourier import FourierFeatures as FourierFeatures
from .estimators.feature_maps.landmarks import NystroemFeatures as NystroemFeatures
from .estimators.feature_maps.landmarks import RBFNetwork as RBFNetwork
from .estimators.feature_maps.partial_whitening import PartialWhitening as PartialWhitening
from .estimators.feature_maps.polynomial import PolynomialFeatures as PolynomialFeatures
from .estimators.feature_maps.polynomial import TensorSketch as TensorSketch
from .estimators.feature_maps.quasi_monte_carlo import QuasiMonteCarloFeatures as QuasiMonteCarloFeatures
from .estimators.feature_maps.random_binning import RandomBinning as RandomBinning
from .estimators.feature_maps.random_units import HiddenUnits as HiddenUnits
from .estimators.feature_maps.random_units import SemiRandomFeatures as SemiRandomFeatures
from .estimators.feature_maps.sparse_random_features import SparseRandomFeatures as SparseRandomFeatures
