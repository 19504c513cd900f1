"""Orders of the rows in which the rows that choose parameters, and those that are held out, have every class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LEAST_OF_CLASS = 5
"""A class is never too rare among some rows if it has so many there. Otherwise it needs its share of them, and two
rows, or half of its rows if it has fewer than four."""


def class_labels(codes: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """A whole number for the class of each row, shape (n,); with several labels, for the rarest value among them."""
    if not multilabel:
        return (codes[:, 0] > 0).astype(int) if codes.shape[1] == 1 else codes.argmax(axis=1)
    values = np.hstack([codes > 0, codes <= 0])
    counts = values.sum(axis=0)
    rarest = np.argsort(counts, kind="stable")
    return rarest[values[:, rarest].argmax(axis=1)]


def with_every_class(order: np.ndarray, labels: np.ndarray, choosing: slice, parts: Sequence[slice] = ()) -> np.ndarray:
    """Exchange rows where a class is too rare among those that choose parameters or those that are held out.

    An order in which no class is too rare is returned as it is.

    Parameters
    ----------
    order : ndarray, shape (n,)
        The row at each place, drawn at random.
    labels : ndarray, shape (n,)
        The class of each row, from `class_labels`.
    choosing : slice
        Places of the rows that parameters are chosen with.
    parts : sequence of slice
        Places of the rows that are held out, for each fit that goes without some. These fits need every class as well.

    Returns
    -------
    ndarray, shape (n,)
    """
    places = _Places(order.copy(), labels[order], np.bincount(labels))
    held_out, chooses = np.zeros(len(order), dtype=bool), np.zeros(len(order), dtype=bool)
    chooses[choosing] = True
    for part in parts:
        held_out[part] = True
    rare = np.flatnonzero(places.counts // 2 <= LEAST_OF_CLASS)
    for part in parts:
        here = np.zeros(len(order), dtype=bool)
        here[part] = True
        for label in rare:
            for place in np.flatnonzero(here & (places.labels == label))[places.counts[label] // 2 :]:
                places.exchange_for_common(place, ~(held_out | chooses))
    for span, others in ((held_out, chooses), (chooses, held_out)):
        places.complete(span, others)
    return places.order


class _Places:
    """The rows at the places of an order, their labels, and the number of rows of each label."""

    def __init__(self, order: np.ndarray, labels: np.ndarray, counts: np.ndarray):
        self.order, self.labels, self.counts = order, labels, counts

    def exchange_for_common(self, place: int, among: np.ndarray) -> None:
        """Exchange the row of a place for the last one of the commonest label among others, if there is any."""
        here = np.bincount(self.labels[among], minlength=len(self.counts))
        if here.any() and here.argmax() != self.labels[place]:
            self._exchange(place, np.flatnonzero(among & (self.labels == here.argmax()))[-1])

    def complete(self, span: np.ndarray, others: np.ndarray) -> None:
        """Bring rows of labels that are too rare in a span into it, if need be from others that have enough."""
        if not span.any() or span.all():
            return
        share = (self.counts * span.mean()).astype(int)
        wanted = np.clip(share, np.minimum(2, self.counts // 2), np.minimum(LEAST_OF_CLASS, self.counts // 2))
        here = np.bincount(self.labels[span], minlength=len(wanted))
        if np.maximum(wanted - here, 0).sum() > span.sum() // 2:
            wanted = np.minimum(wanted, 1)
        for label in np.flatnonzero(here < wanted):
            free = np.flatnonzero((self.labels == label) & ~span & ~others)
            spare = np.flatnonzero((self.labels == label) & others & ~span)[wanted[label] :]
            for place in np.concatenate([free, spare])[: wanted[label] - here[label]]:
                self.exchange_for_common(place, span & ~others if (span & ~others).any() else span)

    def _exchange(self, a: int, b: int) -> None:
        for of_places in (self.order, self.labels):
            of_places[[a, b]] = of_places[[b, a]]
