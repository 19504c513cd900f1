"""The preparation step that replaces features by those of a neural net, trained there and then.

A net is an estimator, and estimators stand above datasets; so `shallows.nets` is imported when the step is done, and
the checks of the step, which need no net, only ask for its architecture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from shallows.datasets import steps
from shallows.datasets.draws import draw_rows
from shallows.datasets.files import DatasetError
from shallows.datasets.table import Table
from shallows.errors import MissingExtraError, ShallowsError


def replace_features(step: steps.NetFeatures, table: Table) -> dict[str, Any]:
    """Train a net on the training part of a table, and let its features take the place of the table's.

    Parameters
    ----------
    step : NetFeatures
    table : Table

    Returns
    -------
    dict
        What the record says of the net: its architecture and where that is from, the rows, epochs and seed it was
        trained with, its error on those rows, the checksum of its weights, and by what it was computed.

    Raises
    ------
    DatasetError
        If the features are no images where the net needs them.
    MissingExtraError
        Without PyTorch.
    """
    from shallows.nets import NeuralNetClassifier, NeuralNetRegressor, backend
    from shallows.nets.architectures import find

    image_shape, order = _images(table)
    x, y = _training_rows(step, table, order)
    of_classes = table.class_codes("train") is not None
    net = (NeuralNetClassifier if of_classes else NeuralNetRegressor)(
        step.architecture,
        image_shape=image_shape if find(step.architecture).of_images else None,
        step_size=step.step_size,
        batch_size=step.batch_size,
        max_epochs=step.epochs,
        random_state=step.seed,
        device=step.device,
    )
    try:
        with _one_thread():
            net.fit(x, y)
            predicted = net.predict(x)
    except (ShallowsError, ValueError) as error:
        if isinstance(error, MissingExtraError):
            raise
        raise DatasetError(f"The step net_features cannot be done on '{table.dataset.name}': {error}") from error

    def features(block: np.ndarray) -> np.ndarray:
        with _one_thread():
            return net.transform(_in_order(block, order).astype(np.float32)).astype(np.float64)

    table.add(features)
    table.n_features = net.effective_params_["n_net_features"]
    table.value_range, table.image, table.views, table.categorical = None, None, None, ()
    used = net.effective_params_
    if of_classes:
        quality = {"train_error": 100.0 * float(np.mean(predicted != y))}
    else:
        quality = {"train_rmse": float(np.sqrt(np.mean((predicted - y.reshape(predicted.shape)) ** 2)))}
    return {
        "architecture": step.architecture,
        "source": find(step.architecture).source,
        "trained_on": table.dataset.name,
        "trained_on_rows": len(x),
        "epochs": used["n_epochs"],
        "batch_size": used["batch_size"],
        "step_size": used["step_size"],
        "seed": step.seed,
        "input_shape": used["input_shape"],
        "n_weights": used["n_weights"],
        **quality,
        "weights_sha256": _sha256(net.weights_),
        "precision": used["precision"],
        "device": used["device"],
        "torch": used["torch"],
        "threads": 1 if backend.resolve_device(step.device).type == "cpu" else None,
    }


def _training_rows(step: steps.NetFeatures, table: Table, order: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The rows that the net is trained on, in float32 as the arrays will be, and their targets."""
    codes, n = table.class_codes("train"), table.n_rows("train")
    if codes is None and table.target_coding != "values":
        raise DatasetError(
            f"The step net_features needs classes or values to learn, and the targets are {table.target_coding}."
        )
    y = codes if codes is not None else np.concatenate(list(table.target_blocks("train")))
    if y.ndim > 1 and not y.shape[1]:
        raise DatasetError(f"The step net_features needs targets to learn, and '{table.dataset.name}' has none.")
    if step.rows is not None and step.rows > n:
        raise DatasetError(
            f"The step net_features asks for {step.rows:,} rows, and '{table.dataset.name}' has {n:,} to train on."
        )
    kept = np.arange(n) if step.rows is None else draw_rows(n, step.rows, step.seed, "net_features", codes)
    table.make_dense()
    x, start = np.empty((len(kept), table.n_features), np.float32), 0
    for block in table.blocks("train"):
        first, last = np.searchsorted(kept, (start, start + len(block)))
        x[first:last] = _in_order(block[kept[first:last] - start], order)
        start += len(block)
    return x, y[kept]


def _images(table: Table) -> tuple[tuple[int, int, int] | None, np.ndarray | None]:
    """Shape of the images as far as it is known, and the order of the columns that puts channel after channel."""
    if table.image is None:
        return None, None
    height, width, channels = (table.image[key] for key in ("height", "width", "channels"))
    planar = channels == 1 or table.image["order"] == "planar"
    order = None if planar else np.arange(table.n_features).reshape(height, width, channels).transpose(2, 0, 1).ravel()
    return (channels, height, width), order


def _in_order(block: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    return block if order is None else block[:, order]


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread of PyTorch's, since the last digits of a sum depend on how it is divided among threads."""
    from shallows.nets import backend

    torch = backend.torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _sha256(weights: dict[str, np.ndarray]) -> str:
    state = hashlib.sha256()
    for name in sorted(weights):
        state.update(f"{name} {weights[name].shape} {weights[name].dtype.str}".encode())
        state.update(np.ascontiguousarray(weights[name]).tobytes())
    return state.hexdigest()
