"""Training rows that are read batch by batch; the next batch is read while the previous one is in use."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

from ..arrays import Array, Device
from ..models.centering import TrainingRows


class RowsAhead:
    """Reads the next batch in a separate thread, so that reading and computing overlap; two batches are in memory.

    `following` announces the order of the batches. A batch out of order, as after a step that is repeated, is read when
    it is needed. ``share`` gives the part of a batch that this process needs; ``n_ahead`` counts batches ready in time.
    """

    def __init__(self, rows: TrainingRows, device: Device, share: Callable[[slice], slice] = lambda batch: batch):
        self._rows, self._device = rows, device
        self._pool: ThreadPoolExecutor | None = None
        self._next: dict[int, slice] = {}
        self._pending: tuple[slice, Future] | None = None
        self._share, self.n_ahead = share, 0

    def __len__(self) -> int:
        return len(self._rows)

    def __call__(self, batch: slice) -> Array:
        """The points of a batch, shape (m, d' + 2)."""
        if not self._next:
            return self._rows(batch)
        pending, self._pending = self._pending, None
        if pending is not None and pending[0] == batch:
            points = pending[1].result()
            self.n_ahead += 1
        else:
            points = self._rows(batch)
        following = self._next.get(batch.start)
        if following is not None:
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="shallows-rows")
            self._pending = following, self._pool.submit(self._read, following)
        return points

    def _read(self, batch: slice) -> Array:
        with self._device.active():
            return self._rows(batch)

    def following(self, batches: Any) -> AnnouncedBatches:
        """The batches, announced to this object before each epoch."""
        return AnnouncedBatches(batches, self)

    def expect(self, order: list[slice], after: slice | None) -> None:
        """Store the order of an epoch, and the first batch of the next epoch."""
        parts = [self._share(one) for one in (*order, after) if one is not None]
        self._next = {one.start: other for one, other in itertools.pairwise(parts)}


class AnnouncedBatches:
    """The batches of a source, whose order is announced to a `RowsAhead` at the start of each epoch."""

    names_rows: ClassVar[bool] = True

    def __init__(self, batches: Any, rows: RowsAhead):
        self._batches, self._rows = batches, rows

    def __len__(self) -> int:
        return len(self._batches)

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        order = self._batches.of_epoch(epoch)
        after = self._batches.of_epoch(epoch + 1)[:1]
        self._rows.expect(order, after[0] if after else None)
        return order
