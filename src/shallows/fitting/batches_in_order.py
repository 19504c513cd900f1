"""Batches whose first epoch has the order of the rows."""

from __future__ import annotations

from .. import arrays, streams, training


class InOrderThenShuffled(training.Batches):
    """Batches that the first epoch visits in the order of the rows, and later ones in a random order.

    The rows of a fit are in a random order already. In the first epoch the rows visited so far are then the first
    ones, and of a kernel matrix that is not kept only their columns are computed.
    """

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        return list(arrays.blocks(self.n, self.size)) if epoch == 0 else super().of_epoch(epoch)


class InOrderThenDrawn(InOrderThenShuffled):
    """Batches that the first epoch visits in order, and later ones draw with replacement."""

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        slices = list(arrays.blocks(self.n, self.size))
        if epoch == 0:
            return slices
        return [slices[int(i % len(slices))] for i in streams.integers(self.seed, "drawn batches", epoch, len(slices))]
