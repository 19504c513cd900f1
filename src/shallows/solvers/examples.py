"""Batches of examples: rows of a set, or handed in as they are; with one view of each example or with two."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Array


@dataclass(frozen=True)
class Examples:
    """A batch that is handed in as it is."""

    points: Array  # (m, d)
    targets: Array | None = None  # (m, c)
    weights: Array | None = None  # (m, 1)
    # (m, d'): The same examples as another instrument sees them, for methods that relate two views, such as canonical
    # correlation analysis
    second_view: Array | None = None


class ExampleSet:
    """Base of problems whose batches are slices of a set of n examples, or `Examples`.

    Those who inherit have what there is of ``points`` (n, d), ``targets`` (n, c), ``weights`` (n, 1) and
    ``second_view`` (n, d'); none of them for a stream.
    """

    points = targets = weights = second_view = None

    def take(self, batch: slice | Examples) -> Examples:
        """The examples of a batch."""
        if isinstance(batch, Examples):
            return batch
        parts = (self.points, self.targets, self.weights, self.second_view)
        return Examples(*(None if part is None else part[batch, :] for part in parts))
