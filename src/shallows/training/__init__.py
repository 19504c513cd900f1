"""The one loop: drives any solver through batches until a stopping rule.

It owns the order of the batches, the stopping rules, the marks at which observers look, checkpoints, and the watch for
divergence. It does not know which solver it drives: all that a solver is asked for is `init` and `step`.
"""

from ..errors import TrainingInterrupted
from .batches import Batches, Stream
from .checkpoints import Checkpoint
from .loop import EPOCH_GROWTH, GROWTH, MAX_ROLLBACKS, Run, Stopping, train
from .observers import Curve, Observer, Progress

__all__ = [
    "EPOCH_GROWTH",
    "GROWTH",
    "MAX_ROLLBACKS",
    "Batches",
    "Checkpoint",
    "Curve",
    "Observer",
    "Progress",
    "Run",
    "Stopping",
    "Stream",
    "TrainingInterrupted",
    "train",
]
