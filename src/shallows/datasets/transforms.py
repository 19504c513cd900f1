"""What each step of a preparation does to a table; whatever it learns comes from the training part alone."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np

from shallows.datasets import components, steps
from shallows.datasets.draws import draw_fold, draw_rows
from shallows.datasets.files import DatasetError
from shallows.datasets.table import Table
from shallows.errors import UnknownNameError

# Longer statistics are recorded by their checksum.
_MAX_RECORDED = 4096
# A median needs all values of its column at once; so many columns are taken together as fit into this.
_MEDIAN_BYTES = 64 << 20


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
    return _hold_out(draw_rows(available, n_held, step.seed, "split", _strata(step.stratify, table, "train")), table)


@apply_step.register
def _(step: steps.Fold, table: Table) -> dict[str, Any]:
    available = table.n_rows("train")
    if step.of > available:
        raise DatasetError(
            f"The step fold is to make {step.of:,} parts of the {available:,} training rows of '{table.dataset.name}'; "
            "each needs at least one."
        )
    strata = _strata(step.stratify, table, "train")
    return _hold_out(draw_fold(available, step.fold, step.of, step.seed, "fold", strata), table)


def _hold_out(held: np.ndarray, table: Table) -> dict[str, Any]:
    """Make these training rows the test part."""
    raw_part, rows = table.rows["train"]
    table.rows["test"] = (raw_part, rows[held])
    table.rows["train"] = (raw_part, np.delete(rows, held))
    return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}


@apply_step.register
def _(step: steps.KeepClasses, table: Table) -> dict[str, Any]:
    if table.target_coding != "class indices":
        raise DatasetError(
            f"The step keep_classes needs class indices, and the targets are {table.target_coding}. Let it come first."
        )
    wanted = [str(name) for name in step.classes]
    for name in wanted:
        if name not in table.classes:
            raise UnknownNameError("class", name, table.classes)
    place = np.full(len(table.classes), -1, dtype=np.int64)
    place[[table.classes.index(name) for name in wanted]] = np.arange(len(wanted))
    table.codes = {part: place[codes] for part, codes in table.codes.items()}
    for part, (raw_part, rows) in table.rows.items():
        table.rows[part] = (raw_part, rows[table.codes[raw_part][rows] >= 0])
    table.classes = wanted
    counts = np.bincount(table.class_codes("train"), minlength=len(wanted))
    if not counts.all():
        raise DatasetError(f"No training row is of class {wanted[int(counts.argmin())]}.")
    return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}


@apply_step.register
def _(step: steps.Impute, table: Table) -> dict[str, Any]:
    d = table.n_features
    if table.sparse or table.transforms:
        raise DatasetError("The step impute must be the first that changes features, and the data must be dense.")
    missing, total, present = np.zeros(d, dtype=np.int64), np.zeros(d), np.zeros(d, dtype=np.int64)
    for block in table.blocks("train"):
        gaps = np.isnan(block)
        missing += gaps.sum(axis=0)
        present += (~gaps).sum(axis=0)
        total += np.where(gaps, 0.0, block).sum(axis=0)
    empty = np.flatnonzero(present == 0)
    if len(empty):
        raise DatasetError(f"Feature {empty[0] + 1:,} has no value at all in the training part. Leave the column out.")
    codes = np.isin(np.arange(d), table.categorical)
    fill = total / present
    if isinstance(step.strategy, str):
        frequent = codes if step.strategy != "most_frequent" else np.ones(d, dtype=bool)
        for columns, middle in ((frequent, _mode), (~frequent, np.median)):
            if middle is np.median and step.strategy != "median":
                continue
            _fill_by(table, np.flatnonzero(columns), middle, fill)
    else:
        fill[~codes] = step.strategy
        _fill_by(table, np.flatnonzero(codes), _mode, fill)
    table.add(lambda block: np.where(np.isnan(block), fill, block))
    return {"values": _recorded(fill), "filled_in_training": int(missing.sum())}


def _fill_by(table: Table, columns: np.ndarray, middle: Any, fill: np.ndarray) -> None:
    """Set the fill of some columns to a statistic of all their values, as many columns at a time as fit."""
    at_once = max(1, _MEDIAN_BYTES // (8 * table.n_rows("train")))
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        values = np.concatenate([block[:, some] for block in table.blocks("train")])
        for column, own in zip(some, values.T, strict=True):
            fill[column] = middle(own[~np.isnan(own)])


def _mode(values: np.ndarray) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[counts.argmax()]


@apply_step.register
def _(step: steps.Grayscale, table: Table) -> dict[str, Any]:
    image = _image(step, table)
    if image["channels"] != 3:
        raise DatasetError(f"The step grayscale needs three channels, and the images have {image['channels']}.")
    pixels = image["height"] * image["width"]
    weights = np.asarray(step.weights, dtype=np.float64)
    # Columns of one colour: a third of all in a row, or every third.
    planar = image["order"] == "planar"
    channels = [slice(c * pixels, (c + 1) * pixels) if planar else slice(c, None, 3) for c in range(3)]
    table.add(lambda block: sum(weight * block[:, channel] for weight, channel in zip(weights, channels, strict=True)))
    table.n_features, table.image = pixels, {**image, "channels": 1}
    if table.value_range is not None and abs(weights.sum() - 1) > 1e-9:
        table.value_range = None
    return {"weights": weights.tolist()}


@apply_step.register
def _(step: steps.Halves, table: Table) -> dict[str, Any]:
    image = _image(step, table)
    height, width, channels = image["height"], image["width"], image["channels"]
    planar = image["order"] == "planar"
    shape, axis = ((channels, height, width), 2) if planar else ((height, width, channels), 1)
    numbers = np.arange(table.n_features).reshape(shape)
    left, right = (half.ravel() for half in np.split(numbers, [width // 2], axis=axis))
    order = np.concatenate([left, right])
    table.add(lambda block: block[:, order], keeps_sparse=True)
    table.image, table.views = None, [(0, len(left)), (len(left), table.n_features)]
    return {"views": [list(view) for view in table.views]}


def _image(step: steps.Grayscale | steps.Halves, table: Table) -> dict[str, Any]:
    """Return the form of the images: what the step says, and the catalogue where it says nothing."""
    known = dict(table.image or {})
    known |= {key: value for key in ("height", "width", "order") if (value := getattr(step, key)) is not None}
    if "height" not in known or "width" not in known:
        raise DatasetError(
            f"The step {step.name} needs images, and the catalogue does not say that the features of "
            f"'{table.dataset.name}' are pixels (any more). State their form: '{step.name}: {{height: 32, width: 32}}'."
        )
    known["channels"], rest = divmod(table.n_features, known["height"] * known["width"])
    if rest or not known["channels"]:
        raise DatasetError(
            f"The step {step.name}: {table.n_features:,} features are no images of "
            f"{known['height']} x {known['width']} pixels."
        )
    known.setdefault("order", "planar")
    return known


@apply_step.register
def _(step: steps.Unit, table: Table) -> dict[str, Any]:
    known = tuple(step.range) if step.range is not None else table.value_range
    if known is not None:
        low, high = known
        table.value_range = (0.0, 1.0)
        if low == 0:
            table.add(lambda block: block / high, keeps_sparse=True)
        else:
            table.add(lambda block: (block - low) / (high - low))
        return {"range": [low, high]}
    low, high = np.full(table.n_features, np.inf), np.full(table.n_features, -np.inf)
    for block in table.blocks("train"):
        least, most = _extremes(block)
        np.minimum(low, least, out=low)
        np.maximum(high, most, out=high)
    spread = np.where(high > low, high - low, 1.0)
    if table.sparse and not low.any():
        table.add(lambda block: block.multiply(1.0 / spread).tocsr(), keeps_sparse=True)
    else:
        table.add(lambda block: (block - low) / spread)
    return {"minimum": _recorded(low), "maximum": _recorded(high)}


def _extremes(block: Any) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(block, "indptr"):
        from sklearn.utils.sparsefuncs import min_max_axis

        return min_max_axis(block, axis=0)
    return block.min(axis=0), block.max(axis=0)


@apply_step.register
def _(step: steps.ZScore, table: Table) -> dict[str, Any]:
    from sklearn.preprocessing import StandardScaler

    if step.center:
        table.make_dense()
    scaler = StandardScaler(copy=True, with_mean=step.center)
    for block in table.blocks("train"):
        scaler.partial_fit(block)
    if step.numeric_only and table.categorical:
        kept = np.isin(np.arange(table.n_features), table.categorical)
        scaler.scale_ = np.where(kept, 1.0, scaler.scale_)
        scaler.mean_ = np.where(kept, 0.0, scaler.mean_)
    table.add(scaler.transform, keeps_sparse=not step.center)
    table.value_range = None
    return {"mean": _recorded(scaler.mean_) if step.center else None, "scale": _recorded(scaler.scale_)}


@apply_step.register
def _(step: steps.NetFeatures, table: Table) -> dict[str, Any]:
    from shallows.datasets.net_features import replace_features

    return replace_features(step, table)


@apply_step.register
def _(step: steps.PCA, table: Table) -> dict[str, Any]:
    n, d, k = table.n_rows("train"), table.n_features, step.n_components
    if k > min(n, d):
        raise DatasetError(
            f"The step pca asks for {k:,} components; {n:,} training rows of {d:,} features have at most {min(n, d):,}."
        )
    mean, variances, vectors = components.principal(
        lambda: table.blocks("train"), n, d, k, step.method, step.iterations, step.seed
    )
    if step.whiten:
        vectors = vectors / np.sqrt(np.maximum(variances, np.finfo(np.float64).tiny))
    shift = mean @ vectors
    if table.sparse:
        table.add(lambda block: np.asarray(block @ vectors) - shift, keeps_sparse=True)
        table.sparse = False
    else:
        table.add(lambda block: (block - mean) @ vectors)
    table.n_features, table.value_range, table.image, table.views, table.categorical = k, None, None, None, ()
    return {"mean": _recorded(mean), "variances": _recorded(variances), "components": _recorded(vectors.T)}


@apply_step.register
def _(step: steps.OneHot, table: Table) -> dict[str, Any]:
    columns = sorted(set(table.categorical if step.columns is None else step.columns))
    if not columns:
        raise DatasetError(
            f"The step one_hot has no columns to work on: the catalogue calls none of "
            f"'{table.dataset.name}' categorical. Name them: 'one_hot: {{columns: [...]}}'."
        )
    if columns[-1] >= table.n_features:
        raise DatasetError(
            f"The step one_hot names column {columns[-1]}, and there are {table.n_features} (counted from 0)."
        )
    table.make_dense()
    values = [np.empty(0)] * len(columns)
    for block in table.blocks("train"):
        values = [np.union1d(seen, block[:, column]) for seen, column in zip(values, columns, strict=True)]
    others = np.delete(np.arange(table.n_features), columns)

    def encode(block: np.ndarray) -> np.ndarray:
        coded = [block[:, [column]] == seen for column, seen in zip(columns, values, strict=True)]
        return np.hstack([block[:, others], *coded])

    table.add(encode)
    left = [column for column in table.categorical if column not in columns]
    table.categorical = tuple(int(np.searchsorted(others, column)) for column in left)
    table.n_features, table.image, table.views = len(others) + sum(map(len, values)), None, None
    table.value_range = table.value_range if table.value_range == (0.0, 1.0) else None
    return {"columns": columns, "values": [_recorded(seen) for seen in values]}


@apply_step.register
def _(step: steps.Signs, table: Table) -> dict[str, Any]:
    if table.target_coding == "indicators":
        return _code(table, np.array([-1, 1]), "signs")
    if table.target_coding != "class indices":
        raise DatasetError(f"The step signs needs class indices, and the targets are {table.target_coding}.")
    n_classes = len(table.classes)
    positive = step.positive
    if positive is None and n_classes == 2:
        positive = [table.classes[1]]
    if positive is None:
        return _code(table, 2 * np.eye(n_classes, dtype=np.float64) - 1, "signs")
    for name in positive:
        if str(name) not in table.classes:
            raise UnknownNameError("class", name, table.classes)
    chosen = {str(name) for name in positive}
    codes = np.array([1 if name in chosen else -1 for name in table.classes], dtype=np.int64)
    if abs(codes.sum()) == n_classes:
        raise DatasetError("The step signs leaves one class only: 'positive' must name some of the classes.")
    return _code(table, codes, "signs")


@apply_step.register
def _(step: steps.Indicators, table: Table) -> dict[str, Any]:
    if table.target_coding != "class indices":
        raise DatasetError(f"The step indicators needs class indices, and the targets are {table.target_coding}.")
    return _code(table, np.eye(len(table.classes), dtype=np.float64), "indicators")


def _code(table: Table, codes: np.ndarray, coding: str) -> dict[str, Any]:
    """Let the targets, which are indices, become the entries or rows of `codes`."""
    table.target_transforms.append(lambda indices: codes[indices.astype(np.int64)])
    table.target_coding, table.target_dtype = coding, codes.dtype.newbyteorder("<")
    table.target_shape += codes.shape[1:]
    table.classes_coded = table.classes_coded or bool(table.codes)
    return {"codes": codes.tolist()}


@apply_step.register
def _(step: steps.CenterTarget, table: Table) -> dict[str, Any]:
    if table.target_coding != "values":
        raise DatasetError(f"The step center_target is for regression; the targets are {table.target_coding}.")
    n = table.n_rows("train")
    mean = sum(block.sum(axis=0) for block in table.target_blocks("train")) / n
    scale = np.ones_like(mean)
    if step.scale:
        scale = np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for block in table.target_blocks("train")) / n)
    if not np.all(scale > 0):
        raise DatasetError("The step center_target cannot scale: the training target is constant.")
    table.target_transforms.append(lambda block: (block - mean) / scale)
    return {"mean": np.asarray(mean).tolist(), "scale": np.asarray(scale).tolist()}


def _strata(stratify: bool | None, table: Table, part: str) -> np.ndarray | None:
    if stratify is False:
        return None
    codes = table.class_codes(part)
    if stratify and codes is None:
        raise DatasetError(
            f"'{table.dataset.name}' has no classes to stratify by: its targets are {table.target_coding}."
        )
    return codes


def _recorded(statistic: np.ndarray) -> list | dict[str, Any]:
    if statistic.size <= _MAX_RECORDED:
        return statistic.tolist()
    content = np.ascontiguousarray(statistic, "<f8").tobytes()
    return {"shape": list(statistic.shape), "sha256": hashlib.sha256(content).hexdigest()}
