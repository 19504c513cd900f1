"""The one loop that drives any solver: batches, stopping rules, observers, checkpoints and the detection of divergence.

`steps` describes what the loop asks of a solver and of its state.
"""

from ..errors import TrainingInterrupted
from .checkpoints import Checkpoint
from .loop import MAX_ROLLBACKS, Run, Stopping, train
from .observers import Curve, Observer, Progress
from .steps import EPOCH_GROWTH, GROWTH, Batches, OwnRows, Stream

__all__ = [
    "EPOCH_GROWTH",
    "GROWTH",
    "MAX_ROLLBACKS",
    "Batches",
    "Checkpoint",
    "Curve",
    "Observer",
    "OwnRows",
    "Progress",
    "Run",
    "Stopping",
    "Stream",
    "TrainingInterrupted",
    "train",
]
