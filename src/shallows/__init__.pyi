# What type checkers see of the names that __init__.py imports when they are first used.

from . import arrays as arrays
from . import decomposition as decomposition
from . import distributed as distributed
from . import errors as errors
from . import estimators as estimators
from . import features as features
from . import gaussian_process as gaussian_process
from . import gram as gram
from . import kernel_approximation as kernel_approximation
from . import kernels as kernels
from . import losses as losses
from . import saving as saving
from . import solvers as solvers
from . import spectrum as spectrum
from . import statistics as statistics
from . import streams as streams
from . import svm as svm
from . import training as training
from .estimators import DoublyStochasticClassifier as DoublyStochasticClassifier
from .estimators import DoublyStochasticRegressor as DoublyStochasticRegressor
from .estimators import FeatureRidgeClassifier as FeatureRidgeClassifier
from .estimators import FeatureRidgeRegressor as FeatureRidgeRegressor
from .estimators import KernelRidgeClassifier as KernelRidgeClassifier
from .estimators import KernelRidgeRegressor as KernelRidgeRegressor
from .estimators import KernelSVMClassifier as KernelSVMClassifier
from .estimators import LinearSVMClassifier as LinearSVMClassifier
from .estimators import RegularizedRiskClassifier as RegularizedRiskClassifier
from .estimators import RegularizedRiskRegressor as RegularizedRiskRegressor
from .fitting.machine import Options as Options
from .fitting.machine import options as options
from .fitting.metric import Metric as Metric
from .fitting.rows import EarlyStopping as EarlyStopping
from .saving import load as load
from .saving import save as save

__version__: str
