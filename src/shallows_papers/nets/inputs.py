"""Convert rows of features to inputs of a net: expansion in steps, centering, a common scale, crops of images."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shallows import arrays, streams

from .architectures import Architecture, Shape

_ROWS = 1024


@dataclass(frozen=True)
class Coding:
    """Converts rows of features to inputs of a net's first layer.

    ``columns, values`` (k,): if there are steps, input i is tanh((x[columns[i]] - values[i]) / width).
    """

    shape: Shape  # Shape of one example before cutting: (channels, height, width) or (inputs,)
    columns: np.ndarray | None
    values: np.ndarray | None
    width: float | None
    mean: np.ndarray  # (inputs,): of the training data
    # Root mean square of the centered training data over all inputs. A single number, so that inputs with small
    # variance are not enlarged.
    scale: float
    crop: int | None

    @classmethod
    def of(cls, x: np.ndarray, shape: Shape, architecture: Architecture) -> Coding:
        """Compute mean and scale of the training rows in blocks."""
        columns = values = None
        if architecture.steps is not None:
            largest = np.max([block.max(axis=0) for block in _blocks(x)], axis=0)
            counts = np.maximum(np.ceil(largest / architecture.steps), 0).astype(int) + 1
            columns = np.repeat(np.arange(len(largest)), counts)
            values = np.concatenate([np.arange(count) for count in counts]) * architecture.steps
            shape = (len(columns),)
        raw = cls(shape, columns, values, architecture.steps, np.zeros(1), 1.0, architecture.crop)
        mean = sum(raw._coded(block).sum(axis=0) for block in _blocks(x)) / len(x)
        square = sum(((raw._coded(block) - mean) ** 2).sum() for block in _blocks(x)) / (len(x) * len(mean))
        # If all rows are equal, there is nothing to scale.
        scale = float(np.sqrt(square)) or 1.0
        return cls(shape, columns, values, architecture.steps, mean, scale, architecture.crop)

    def _coded(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        return x if self.columns is None else np.tanh((x[:, self.columns] - self.values) / self.width)

    def middle(self, x: np.ndarray) -> np.ndarray:
        """Return the inputs of rows with images cut in the middle: float64, shape (m, ...)."""
        images = self._standardised(x)
        if self.crop is None:
            return images
        top, left = ((side - self.crop) // 2 for side in self.shape[1:])
        return images[:, :, top : top + self.crop, left : left + self.crop]

    def random_pieces(self, x: np.ndarray, seed: int, counter: int) -> np.ndarray:
        """Return the inputs of rows with images cut and reflected at random, depending on (seed, counter)."""
        images = self._standardised(x)
        if self.crop is None:
            return images
        m, channels, height, width = images.shape
        u = streams.uniform(seed, "pieces of images", counter, (m, 3))
        rows = (u[:, 0] * (height - self.crop + 1)).astype(int)[:, None] + np.arange(self.crop)
        columns = (u[:, 1] * (width - self.crop + 1)).astype(int)[:, None] + np.arange(self.crop)
        columns = np.where(u[:, 2:] < 0.5, columns, columns[:, ::-1])
        which = np.arange(m)[:, None, None, None], np.arange(channels)[None, :, None, None]
        return images[(*which, rows[:, None, :, None], columns[:, None, None, :])]

    def _standardised(self, x: np.ndarray) -> np.ndarray:
        return ((self._coded(x) - self.mean) / self.scale).reshape(len(x), *self.shape)


def _blocks(x: np.ndarray) -> Iterable[np.ndarray]:
    for rows in arrays.blocks(len(x), _ROWS):
        yield np.asarray(x[rows], dtype=np.float64)
