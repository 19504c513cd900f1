"""Targets with invented curves, for tests of what is made of measurements."""

from shallows_papers.experiments.comparing import target_table
from shallows_papers.experiments.comparing.evaluations import RunResult

PRINTED = ("dataset", "method", "setting", "metric", "published")
SIZE = {"dataset": "toy", "title": "Toy", "n_train": 10, "n_test": 5}


def made(
    curves, *, metrics, claims=None, kind="table", published=(), settings=("kernel",), marks=(), record=None, **changes
):
    """A comparison and its runs out of ``(method, setting, seed) -> metric -> mark -> value``.

    Marks come from the first run of a series, unless they are given.
    """
    series, measured = {}, {}
    for (method, setting, seed), curve in curves.items():
        run = f"{method}-{setting}-{seed}"
        told = {"run": {"id": run, "seed": seed}, "data": {"n_test": 10_000}, **(record or {})}
        along = "epochs" if marks or any(mark is not None for one in curve.values() for mark in one) else ""
        measured[run] = RunResult(f"runs/{run}", told, curve, along)
        own = sorted({mark for one in curve.values() for mark in one if mark is not None})
        one = series.setdefault(
            (method, setting),
            {
                "data": "Toy",
                "method": method,
                "setting": {"kernel": setting} if settings else {},
                "marks": (list(marks) or own) if kind == "table" else [],
                "run_ids": [],
                "altered": {},
            },
        )
        one["run_ids"].append(run)
    spec = {
        "kind": kind,
        "mark": "epochs",
        "metrics": metrics,
        "claims": claims or {},
        "settings": {axis: {} for axis in settings},
        "published_data": {"Toy": {"any": True}},
        "methods": dict.fromkeys(method for method, _ in series),
    }
    comparison = {
        "target": "toy_target",
        "scale": "laptop",
        "spec": spec,
        "method": next(iter(spec["methods"])),
        "series": list(series.values()),
        "published": [dict(zip(PRINTED, row, strict=True)) for row in published],
        "sizes": {"Toy": SIZE},
        "missing": {},
        "left_out": "",
        **changes,
    }
    return comparison, measured


def rows_of(comparison, measured):
    """The rows of a target as a CSV holds them."""
    return [row.as_text() for row in target_table.rows_of(comparison, measured)]


def claim_of(claim, curves, published="", **changes):
    """The rows of one claim."""
    metrics = changes.pop("metrics", {"error": {"label": "error"}})
    said = [("Toy", "", "", "claim", published)] if published else []
    claim = {"evidence": "theorem" if published else "own", **claim}
    comparison, measured = made(curves, metrics=metrics, claims={"claim": claim}, published=said, **changes)
    return [row for row in rows_of(comparison, measured) if row["metric"] == "claim"]


REACHED = {
    "epochs_needed": {
        "label": "epochs",
        "evidence": "number",
        "tolerance": {"absolute": 1.0},
        "first_passage": {"of": "error", "at_most": {"method": "exact", "metric": "error"}, "plus": 0.5},
    }
}
RACE = {
    ("fast", "g", 0): {"error": {1: 5.0, 2: 3.4, 3: 2.0}},
    ("slow", "g", 0): {"error": {1: 9.0, 2: 8.0, 3: 7.0}},
    ("exact", "g", 0): {"error": {None: 3.0}},
}
