"""A training that is stopped as often as one can be, for the tests that what resumes it ends the same."""

from shallows.errors import TrainingInterrupted
from shallows.training import Checkpoint, Observer


class StopAlways(Observer):
    """Asks for a stop after every batch."""

    def __init__(self, checkpoint):
        self.checkpoint = checkpoint

    def on_batch(self, run):
        self.checkpoint.request_stop()


class StopAt(Observer):
    """Asks for a stop after some batches, or after an epoch."""

    def __init__(self, checkpoint, *batches, epoch=None):
        self.checkpoint, self.batches, self.epoch = checkpoint, batches, epoch

    def on_batch(self, run):
        if run.iteration in self.batches:
            self.checkpoint.request_stop()

    def on_epoch(self, run):
        if run.epoch == self.epoch:
            self.checkpoint.request_stop()


def stopped_at_every_batch(once, folder):
    """What ``once`` returns if each of its runs resumes where the last was stopped, and the number of runs."""
    n_runs = 0
    while True:
        n_runs += 1
        checkpoint = Checkpoint(folder, "k")
        try:
            return once(checkpoint=checkpoint, observers=[StopAlways(checkpoint)]), n_runs
        except TrainingInterrupted:
            pass
