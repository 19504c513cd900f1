"""The measured values of a target's runs, from their records, curves and outputs.

Metrics of the outputs, which a target names under ``from_outputs``, need no training. A function of `OF_CLASSES` or
`OF_VALUES` gets the outputs on the test part, shape (m, c), the true targets, and the classes or None. Two classes have
one output, which is positive for the second class.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax

from shallows.errors import ShallowsError
from shallows_papers.datasets.files import replacing
from shallows_papers.papers.claim_functions import Curve

from ..running import record as records


@dataclass(frozen=True)
class RunResult:
    """One run: its folder, its record, and its curve as ``metric -> evaluation point -> value``.

    ``along`` names the evaluation points, in the target's words or the analysis' own. ``wrong`` has the misclassified
    test points if a claim compares two runs point by point, see `wrong_points`.
    """

    folder: str
    record: dict[str, Any]
    curve: dict[str, Curve]
    along: str = ""
    wrong: str = ""

    @classmethod
    def of(
        cls, folder: str, record: dict[str, Any], rows: Iterable[Mapping[str, str]], along: str = "", wrong: str = ""
    ) -> RunResult:
        """Make a run from its record and the rows of its curve.

        The column that the target names, or the only column, has the evaluation points. Other columns, such as
        seconds, become metrics. A row without an evaluation point has the point None.
        """
        columns = {name for row in rows for name in row} - {"metric", "value"}
        named = next((name for name in (along, along.removesuffix("s")) if name in columns), None)
        if named is None and len(columns) > 1:
            raise ShallowsError(f"The curve in {folder} has no column {along!r}.")
        column = named or next(iter(columns), "")
        curve: dict[str, Curve] = {}
        for row in rows:
            point = number(row[column]) if row.get(column) else None
            curve.setdefault(row["metric"], {})[point] = float(row["value"])
            for name in columns - {column}:
                if row.get(name):
                    curve.setdefault(name, {})[point] = float(row[name])
        return cls(folder, record, curve, along if named or not column else column, wrong)

    @property
    def diverged(self) -> bool:
        """Whether the training diverged, so that the curve ends before its last mark."""
        return "diverged" in self.record

    @property
    def repetition(self) -> tuple[Any, int]:
        """The part of the data and the seed, which identify the run within its series."""
        return self.record["run"].get("variant"), self.record["run"]["seed"]


def points_used(record: Mapping[str, Any]) -> float:
    """Return how many training points a run used; infinite where its record does not say, which means all points."""
    used = record.get("effective", {}).get("n_points")
    return used if isinstance(used, int) else math.inf


def evaluate(
    paths: Iterable[str | Path], along: str = "", metrics: Mapping[str, str] | None = None, by_point: bool = False
) -> dict[str, RunResult]:
    """Return the measured values of runs by their identifiers, from the paths of their records.

    ``metrics`` are computed from outputs: the name in the target -> a name in `OF_CLASSES` or `OF_VALUES`. They have no
    evaluation point, since a run keeps the outputs of its last one. ``by_point`` keeps the misclassified test points.
    """
    found = {}
    for folder in (Path(path).parent for path in paths):
        record, rows = records.read(folder)
        records.check(record, folder)
        wrong = wrong_points(records.read_outputs(folder)) if by_point else ""
        result = RunResult.of(folder.as_posix(), record, rows, along, wrong)
        if metrics:
            outputs = records.read_outputs(folder)
            values = {name: compute(one, outputs) for name, one in metrics.items()}
            result.curve.update({name: {None: value} for name, value in values.items() if value is not None})
        found[record["run"]["id"]] = result
    return found


def write(path: str | Path, results: Mapping[str, RunResult]) -> None:
    """Write the measured values of a target's runs; a table needs nothing else of them."""
    content = {}
    for name, one in results.items():
        record = {key: value for key, value in one.record.items() if key != "metrics"}
        curve = {metric: [*points.items()] for metric, points in sorted(one.curve.items())}
        content[name] = {"folder": one.folder, "record": record, "curve": curve, "along": one.along, "wrong": one.wrong}
    with replacing(Path(path)) as partial:
        partial.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


def read(path: str | Path) -> dict[str, RunResult]:
    """Read the file that `write` wrote."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return {
        name: RunResult(**{**one, "curve": {metric: dict(points) for metric, points in one["curve"].items()}})
        for name, one in content.items()
    }


def number(text: str) -> int | float:
    """Read an evaluation point from a curve; whole numbers become integers."""
    value = float(text)
    return int(value) if value.is_integer() else value


def wrong_points(outputs: Mapping[str, Any]) -> str:
    """Return the misclassified test points as packed bits in base 64; empty for a run without outputs or classes."""
    if "scores" not in outputs or outputs.get("classes") is None:
        return ""
    wrong = _wrong(*(np.asarray(outputs[name]) for name in ("scores", "truth", "classes")))
    return base64.b64encode(np.packbits(wrong).tobytes()).decode("ascii")


def n_discordant(first: str, second: str) -> int:
    """Count the test points that exactly one of two runs misclassifies."""
    a, b = (int.from_bytes(base64.b64decode(one), "big") for one in (first, second))
    return (a ^ b).bit_count()


def _wrong(scores: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> np.ndarray:
    places = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return classes[places] != truth


def error(scores: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """Share of wrong labels in percent."""
    return 100.0 * float(np.mean(_wrong(scores, truth, classes)))


def log_loss(scores: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """Mean of −log p with p by the logistic function or softmax of the outputs, in nats."""
    columns = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    own = np.take_along_axis(log_softmax(columns, axis=1), np.searchsorted(classes, truth)[:, None], axis=1)
    return -float(np.mean(own))


def auc(scores: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """Area under the ROC curve in percent; for several classes the mean over each class against all others."""
    from sklearn.metrics import roc_auc_score

    positive = classes[1:] if scores.shape[1] == 1 else classes
    areas = [roc_auc_score(truth == one, column) for one, column in zip(positive, scores.T, strict=True)]
    return 100.0 * float(np.mean(areas))


def mae(scores: np.ndarray, truth: np.ndarray) -> float:
    """Mean absolute error, in the units of the targets."""
    return float(np.mean(np.abs(scores - truth.reshape(scores.shape))))


def rmse(scores: np.ndarray, truth: np.ndarray) -> float:
    """Root of the mean squared error, in the units of the targets."""
    return float(np.sqrt(np.mean((scores - truth.reshape(scores.shape)) ** 2)))


#: The functions by the names that targets use, for classes and for values. The schema of papers lists the names.
OF_CLASSES: dict[str, Callable[..., float]] = {"error": error, "log_loss": log_loss, "auc": auc}
OF_VALUES: dict[str, Callable[..., float]] = {"mae": mae, "rmse": rmse}


def compute(name: str, outputs: Mapping[str, Any]) -> float | None:
    """Return a metric of the outputs of a run; None for a run without outputs, such as an analysis."""
    if "scores" not in outputs:
        return None
    classes = outputs.get("classes")
    function = (OF_VALUES if classes is None else OF_CLASSES).get(name)
    if function is None:
        raise ShallowsError(f"The metric {name!r} is not for {'regression' if classes is None else 'classification'}.")
    arrays = np.asarray(outputs["scores"], dtype=np.float64), np.asarray(outputs["truth"])
    return function(*arrays) if classes is None else function(*arrays, np.asarray(classes))
