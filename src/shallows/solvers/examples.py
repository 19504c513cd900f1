"""Batches of examples: rows of a set, or arrays; with one or two views of each example."""

from dataclasses import dataclass

from ..arrays import Array


@dataclass(frozen=True)
class Examples:
    """A batch of arrays."""

    points: Array  # (m, d)
    targets: Array = None  # (m, c), or None
    weights: Array = None  # (m, 1), or None
    # (m, d'), or None: a second view of the same examples, for methods such as canonical correlation analysis
    second_view: Array = None


class ExampleSet:
    """Base of problems whose batches are slices of n examples, or `Examples`.

    Subclasses set ``points`` (n, d), ``targets`` (n, c), ``weights`` (n, 1) and ``second_view`` (n, d') if needed.
    """

    points: Array = None
    targets: Array = None
    weights: Array = None
    second_view: Array = None

    def take(self, batch: slice | Examples) -> Examples:
        """The examples of a batch."""
        if isinstance(batch, Examples):
            return batch
        parts = (self.points, self.targets, self.weights, self.second_view)
        return Examples(*(None if part is None else part[batch, :] for part in parts))
