"""Warnings of fits, counted by their kind, so that each method shows its warnings in one line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_NUMBER = re.compile(r"\d[\d.]*(?:e[-+]?\d+)?")


@contextmanager
def collect_warnings(counts: dict[str, int]) -> Iterator[None]:
    """Count the warnings of the block by their texts instead of printing them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    counts |= count_kinds((str(one.message), 1) for one in found)


def count_kinds(told: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Count texts that differ only in numbers together, under the first of them."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for text, n in told:
        line = first.setdefault(_NUMBER.sub("", text), " ".join(text.split()))
        counts[line] = counts.get(line, 0) + n
    return counts


def of_outcomes(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the warnings of a method over all its outcomes."""
    return count_kinds(pair for outcome in outcomes for pair in outcome.get("warnings", {}).items())


def sentence(label: str, counts: Mapping[str, int]) -> str:
    """Show the warnings of a method in one line; empty without warnings."""
    if not counts:
        return ""
    n = sum(counts.values())
    return f"{label} warned{f' {n} times, most often' if n > 1 else ''}: {max(counts, key=counts.__getitem__)}"
