"""The size of a fitted estimator in bytes."""

from __future__ import annotations

import pickle
from typing import Any


class _Counter:
    """A file that counts what is written to it and keeps nothing."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def write(self, data: Any) -> int:
        n_bytes = memoryview(data).nbytes
        self.n_bytes += n_bytes
        return n_bytes


def model_bytes(estimator: Any) -> int:
    """Bytes of a fitted estimator as pickle would write it, which is the same measure for every package.

    A machine of support vectors or centres counts these training rows; features that are drawn again from their seed
    count the seed alone. Nothing is written, and large arrays are not copied.
    """
    counter = _Counter()
    pickle.Pickler(counter, protocol=5).dump(estimator)
    return counter.n_bytes
