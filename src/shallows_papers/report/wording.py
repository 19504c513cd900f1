"""Readable names of columns and values, and the label of a table or figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from shallows_papers.experiments.comparing.table_rows import NAMED_KEYS

from .numbers import is_number, separated
from .target import Target

EN_DASH = "–"


def name_of(target: Target, key: str, value: str) -> str:
    """Return a value of a key for readers; ``labels`` in the JSON has priority."""
    labels = target.meta.get("labels") or {}
    if key == "metric":
        unit = next((row.unit for row in target.rows if row.metric == value and row.unit), "")
        return words(str(labels.get(value, value)), unit)
    if value in labels:
        return str(labels[value])
    if key in NAMED_KEYS:
        return value
    if is_number(value):
        return f"{int(value):,}" if value.isdigit() else value
    text = value.replace("_", " ")
    return text[0].upper() + text[1:] if len(text) > 1 else text


def heading_of(target: Target, key: str, value: str) -> str:
    """Return a value of a key as the heading of a column; a bare number or letter gets the name of its key."""
    name = name_of(target, key, value)
    return f"{key_title(target, key)} {name}" if is_number(value) or len(value) == 1 else name


def key_title(target: Target, key: str) -> str:
    """Return a key's name as a heading."""
    labels = target.meta.get("labels") or {}
    return str(labels.get(key, words(key)))


def words(name: str, unit: str = "") -> str:
    """Return a column name for readers: ``test_error`` in ``%`` becomes ``test error (%)``."""
    text = name.replace("_", " ")
    return f"{text} ({unit})" if unit and f"({unit})" not in text else text


def quantity(text: str, unit: str = "") -> str:
    """Return a number with separated thousands, a minus sign and its unit, if it has one; text stays as it is."""
    if not is_number(text.replace(",", "")):
        return text
    return separated(text).replace("-", "−") + (f"\u00a0{unit}" if unit else "")


def data_text(data: Mapping[str, Any]) -> str:
    """Describe the data that were used, with their sizes: ``MNIST: n = 60,000 training, 10,000 test, d = 784``."""
    sizes = [f"{data[key]:,} {part}" for key, part in (("n_train", "training"), ("n_test", "test")) if data.get(key)]
    parts = ["n = " + ", ".join(sizes)] if sizes else []
    if data.get("n_features"):
        parts.append(f"d = {data['n_features']:,}")
    return str(data.get("title", "unnamed data")) + (f": {', '.join(parts)}" if parts else "")


def label(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the scale, data, seeds, hardware and code behind a table or figure, as pairs of a name and a text."""
    given = meta.get("label", {})
    times = Counter(map(data_text, given.get("data", ())))
    phrases = [text + (f" ({count} preparations)" if count > 1 else "") for text, count in times.items()]
    return [
        ("Scale", meta.get("scale") or "unknown"),
        ("Data", "; ".join(phrases) or "none was used"),
        ("Seeds", ", ".join(map(str, given.get("seeds", ()))) or "unknown"),
        ("Hardware", "; ".join(given.get("hardware", ())) or "unknown"),
        ("Code", code_text(given.get("code", {}))),
    ]


def code_text(code: Mapping[str, Any]) -> str:
    """Describe a code version: ``shallows 0.1.0, commit 0123abc, with uncommitted changes``, or several commits."""
    parts = [f"shallows {code['version']}"] if code.get("version") else []
    shown = [commit[:10] for commit in code.get("commits", ())]
    if shown:
        parts.append(f"{'commit' if len(shown) == 1 else 'commits'} {', '.join(shown)}")
    if code.get("dirty"):
        parts.append("with uncommitted changes")
    return ", ".join(parts) or "unknown"
