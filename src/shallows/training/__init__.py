"""The one loop: drives any solver through batches until a stopping rule.

It owns the order of the batches, the stopping rules, the places at which observers evaluate, checkpoints, and the watch
for divergence. It does not know which solver it drives: `protocols` says what it asks of one, and of its state.
"""

from ..errors import TrainingInterrupted
from .batches import Batches, OwnRows, Stream
from .checkpoints import Checkpoint
from .failed_fits import keeps_model_on_failure, restore_attributes
from .loop import MAX_ROLLBACKS, train
from .monitors import EPOCH_GROWTH, GROWTH
from .observers import Curve, Observer, Progress
from .run_state import Run
from .stopping import Stopping

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
    "keeps_model_on_failure",
    "restore_attributes",
    "train",
]
