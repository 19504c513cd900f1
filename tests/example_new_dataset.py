"""A new dataset, a new generator and a new preparation step, each as one adds it.

**A dataset that is downloaded**, in a format that is read, is an entry of
``src/shallows_papers/datasets/catalogue/public.yaml`` and no Python at all::

    flowers:
      title: Flowers
      state: public
      task: classification
      n_train: 40
      n_test: 20
      n_features: 2
      n_classes: 2
      licence: CC BY 4.0
      citation: A. Botanist. Petals of two kinds of flowers. 1936.
      homepage: https://example.org/flowers
      format: csv
      options: {target: 2}
      sources: [https://example.org/files/]
      files:
        - {name: train.csv, part: train, size: 560, sha256: TRAIN}
        - {name: test.csv, part: test, size: 280, sha256: TEST}

A file whose publisher gives no checksum has none here either; the first copy that comes is then noted in the user's
lock file. **A generator** and **a step** are a class each, in its own module in ``datasets/synthetic/`` or
``datasets/preparation/steps/``, with its line in `GENERATORS` or `STEPS` there; a step also has its parameters in
``workflow/schemas/datasets.schema.yaml``. What was prepared before stays as it is: it depends on its own modules alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shallows import streams
from shallows_papers.datasets.parameter_rules import NOT_NEGATIVE, is_number, rule
from shallows_papers.datasets.preparation.step import FeatureStep, recorded
from shallows_papers.datasets.preparation.working_table import Table
from shallows_papers.datasets.synthetic.generator import Generator
from shallows_papers.lazy_numpy import np


@dataclass(frozen=True, eq=False)
class TwoMoons(Generator):
    """Two half circles that reach into each other, with normal noise.

    Parameters
    ----------
    seed : int, default=0
    noise : float, default=0.1
        Standard deviation in both directions.
    """

    name = "two_moons"
    task = "classification"

    d = 2
    n_classes = 2

    noise: float = field(default=0.1, metadata=NOT_NEGATIVE)

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        angle, side = streams.uniform(self.seed, f"{self.name}/places", chunk, (n_rows, 2)).T
        y = (side < 0.5).astype(np.int64)
        x = np.column_stack([np.cos(math.pi * angle), np.sin(math.pi * angle)])
        x = np.where(y[:, None] == 0, x, [1.0, 0.5] - x)
        return x + self.noise * streams.normal(self.seed, f"{self.name}/noise", chunk, (n_rows, 2)), y


@dataclass
class Clip(FeatureStep):
    """Limit every feature to a number of standard deviations about its mean over the training part.

    Attributes
    ----------
    deviations : float
    """

    name: ClassVar[str] = "clip"
    learns: ClassVar[bool] = True
    deviations: float = field(
        default=3.0, metadata=rule(lambda value: is_number(value) and value > 0, "a positive number")
    )

    def fit(self, table: Table) -> dict[str, Any]:
        """Learn mean and deviation block by block."""
        n = table.n_rows("train")
        mean = sum(block.sum(axis=0) for block in table.blocks("train")) / n
        deviation = np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for block in table.blocks("train")) / n)
        self.low_, self.high_ = mean - self.deviations * deviation, mean + self.deviations * deviation
        return {"low": recorded(self.low_), "high": recorded(self.high_)}

    def transform(self, block: np.ndarray) -> np.ndarray:
        """Limit a block of either part."""
        return np.clip(block, self.low_, self.high_)
