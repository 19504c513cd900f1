"""What each step of a preparation does to a table; whatever it learns comes from the training part alone."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np

from shallows.datasets import steps
from shallows.datasets.draws import draw_rows
from shallows.datasets.files import DatasetError
from shallows.datasets.table import Table
from shallows.errors import UnknownNameError

# A principal component analysis holds a few matrices of d x d float64: 3.2 GB each at this d.
MAX_PCA_FEATURES = 20_000
# Longer statistics are recorded by their checksum.
_MAX_RECORDED = 4096


@functools.singledispatch
def apply_step(step: steps.Step, table: Table) -> dict[str, Any]:
    """Do a step to a table, in place.

    Parameters
    ----------
    step : Step
        What to do.
    table : Table
        What to do it to.

    Returns
    -------
    dict
        What was learned from the training part or drawn, for the record.

    Raises
    ------
    DatasetError
        When the step cannot be done on this data.
    """
    raise NotImplementedError(f"no transform for {type(step).__name__}")


@apply_step.register
def _(step: steps.Subset, table: Table) -> dict[str, Any]:
    for part, n in (("train", step.n_train), ("test", step.n_test)):
        if n is None:
            continue
        available = table.n_rows(part)
        if n > available:
            raise DatasetError(
                f"The step subset asks for n_{part} = {n:,} rows, and '{table.dataset.name}' has {available:,} there."
            )
        drawn = draw_rows(available, n, step.seed, f"subset/{part}", _strata(step.stratify, table, part))
        raw_part, rows = table.rows[part]
        table.rows[part] = (raw_part, rows[drawn])
    return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}


@apply_step.register
def _(step: steps.Split, table: Table) -> dict[str, Any]:
    available = table.n_rows("train")
    n_held = step.held_out(available)
    if not 0 < n_held < available:
        raise DatasetError(
            f"The step split is to hold out {n_held:,} of the {available:,} training rows of "
            f"'{table.dataset.name}'; at least one must be held out and at least one be left."
        )
    held = draw_rows(available, n_held, step.seed, "split", _strata(step.stratify, table, "train"))
    raw_part, rows = table.rows["train"]
    table.rows["test"] = (raw_part, rows[held])
    table.rows["train"] = (raw_part, np.delete(rows, held))
    return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}


@apply_step.register
def _(step: steps.Unit, table: Table) -> dict[str, Any]:
    known = tuple(step.range) if step.range is not None else table.value_range
    if known is not None:
        low, high = known
        table.transforms.append(lambda block: (block - low) / (high - low))
        table.value_range = (0.0, 1.0)
        return {"range": [low, high]}
    from sklearn.preprocessing import MinMaxScaler

    scaler = MinMaxScaler(copy=True)
    for block in table.blocks("train"):
        scaler.partial_fit(block)
    table.transforms.append(scaler.transform)
    return {"minimum": _recorded(scaler.data_min_), "maximum": _recorded(scaler.data_max_)}


@apply_step.register
def _(step: steps.ZScore, table: Table) -> dict[str, Any]:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(copy=True)
    for block in table.blocks("train"):
        scaler.partial_fit(block)
    table.transforms.append(scaler.transform)
    table.value_range = None
    return {"mean": _recorded(scaler.mean_), "scale": _recorded(scaler.scale_)}


@apply_step.register
def _(step: steps.PCA, table: Table) -> dict[str, Any]:
    # scikit-learn's PCA wants all rows at once, its incremental form is approximate; the covariance sums over
    # blocks.
    from scipy.linalg import eigh

    n, d, k = table.n_rows("train"), table.n_features, step.n_components
    if k > min(n, d):
        raise DatasetError(
            f"The step pca asks for {k:,} components; {n:,} training rows of {d:,} features have at most {min(n, d):,}."
        )
    if d > MAX_PCA_FEATURES:
        raise DatasetError(f"The step pca takes at most {MAX_PCA_FEATURES:,} features, and there are {d:,}.")
    mean = sum(block.sum(axis=0) for block in table.blocks("train")) / n
    covariance = np.zeros((d, d))
    for block in table.blocks("train"):
        centred = block - mean
        covariance += centred.T @ centred
    covariance /= max(n - 1, 1)
    variances, vectors = eigh(covariance, subset_by_index=(d - k, d - 1), overwrite_a=True)
    variances, vectors = np.maximum(variances[::-1], 0.0), vectors[:, ::-1]
    # An eigenvector's sign is arbitrary; as in scikit-learn, its largest entry is made positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(k)])
    if step.whiten:
        vectors = vectors / np.sqrt(np.maximum(variances, np.finfo(np.float64).tiny))
    table.transforms.append(lambda block: (block - mean) @ vectors)
    table.n_features, table.value_range = k, None
    return {"mean": _recorded(mean), "variances": _recorded(variances), "components": _recorded(vectors.T)}


@apply_step.register
def _(step: steps.OneHot, table: Table) -> dict[str, Any]:
    columns = sorted(set(table.dataset.categorical if step.columns is None else step.columns))
    if not columns:
        raise DatasetError(
            f"The step one_hot has no columns to work on: the catalogue calls none of "
            f"'{table.dataset.name}' categorical. Name them: 'one_hot: {{columns: [...]}}'."
        )
    if columns[-1] >= table.n_features:
        raise DatasetError(
            f"The step one_hot names column {columns[-1]}, and there are {table.n_features} (counted from 0)."
        )
    values = [np.empty(0)] * len(columns)
    for block in table.blocks("train"):
        values = [np.union1d(seen, block[:, column]) for seen, column in zip(values, columns, strict=True)]
    others = np.delete(np.arange(table.n_features), columns)

    def encode(block: np.ndarray) -> np.ndarray:
        coded = [block[:, [column]] == seen for column, seen in zip(columns, values, strict=True)]
        return np.hstack([block[:, others], *coded])

    table.transforms.append(encode)
    table.n_features = len(others) + sum(map(len, values))
    table.value_range = table.value_range if table.value_range == (0.0, 1.0) else None
    return {"columns": columns, "values": [_recorded(seen) for seen in values]}


@apply_step.register
def _(step: steps.Signs, table: Table) -> dict[str, Any]:
    if table.target_coding != "class indices":
        raise DatasetError(f"The step signs needs class indices, and the targets are {table.target_coding}.")
    n_classes = len(table.classes)
    positive = step.positive
    if positive is None and n_classes == 2:
        positive = [table.classes[1]]
    if positive is None:
        codes = 2 * np.eye(n_classes, dtype=np.float64) - 1
    else:
        for name in positive:
            if str(name) not in table.classes:
                raise UnknownNameError("class", name, table.classes)
        chosen = {str(name) for name in positive}
        codes = np.array([1 if name in chosen else -1 for name in table.classes], dtype=np.int64)
        if abs(codes.sum()) == n_classes:
            raise DatasetError("The step signs leaves one class only: 'positive' must name some of the classes.")
    table.y = {part: codes[y] for part, y in table.y.items()}
    table.target_coding = "signs"
    return {"codes": codes.tolist()}


@apply_step.register
def _(step: steps.CenterTarget, table: Table) -> dict[str, Any]:
    if table.target_coding != "values":
        raise DatasetError(f"The step center_target is for regression; the targets are {table.target_coding}.")
    training = table.targets("train")
    mean = float(training.mean())
    scale = float(training.std()) if step.scale else 1.0
    if scale == 0.0:
        raise DatasetError("The step center_target cannot scale: the training target is constant.")
    table.y = {part: (y - mean) / scale for part, y in table.y.items()}
    return {"mean": mean, "scale": scale}


def _strata(stratify: bool | None, table: Table, part: str) -> np.ndarray | None:
    wanted = table.dataset.task == "classification" if stratify is None else stratify
    if wanted and table.dataset.task != "classification":
        raise DatasetError(f"'{table.dataset.name}' has no classes to stratify by: its task is {table.dataset.task}.")
    labels = table.targets(part)
    if wanted and labels.ndim == 2:  # classes coded as rows of signs
        labels = labels.argmax(axis=1)
    return labels if wanted else None


def _recorded(statistic: np.ndarray) -> list | dict[str, Any]:
    if statistic.size <= _MAX_RECORDED:
        return statistic.tolist()
    content = np.ascontiguousarray(statistic, "<f8").tobytes()
    return {"shape": list(statistic.shape), "sha256": hashlib.sha256(content).hexdigest()}
