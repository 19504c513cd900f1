"""In which order the regularised methods go through their batches, epoch by epoch."""

from __future__ import annotations

from ... import arrays, streams, training


class InOrderThenShuffled(training.Batches):
    """Batches whose first epoch goes through the rows as they lie, which is a random order already.

    So the rows that were visited are the first ones, and of a kernel matrix that is not kept only their columns are
    made.
    """

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        return list(arrays.blocks(self.n, self.size)) if epoch == 0 else super().of_epoch(epoch)


class InOrderThenDrawn(InOrderThenShuffled):
    """Batches that are drawn with replacement after a first epoch in order."""

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        slices = list(arrays.blocks(self.n, self.size))
        if epoch == 0:
            return slices
        return [slices[int(i % len(slices))] for i in streams.integers(self.seed, "drawn batches", epoch, len(slices))]
