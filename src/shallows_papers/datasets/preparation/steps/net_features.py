"""The step ``net_features``: train a neural net and replace the features by the outputs of one of its layers.

Nets are estimators, a layer above datasets, so `shallows_papers.nets` is imported only when the step runs. The checks
of the step need only the architecture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.errors import MissingExtraError, ShallowsError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import COUNT, COUNT_OR_NULL, SEED
from shallows_papers.datasets.preparation.step import DataSize, FeatureStep
from shallows_papers.lazy_numpy import np
from shallows_papers.nets import architectures

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table


@dataclass
class NetFeatures(FeatureStep):
    """Replace features by outputs of a small neural net that is trained on the training part (extra ``nets``).

    The features are the outputs of the net's last pooling layer, or of its last hidden layer if it has no pooling. The
    record says how the net was trained. On a CPU, with a given version of PyTorch, the features depend only on the
    files and this step. On a GPU the last digits vary, and training amplifies the differences.
    """

    name: ClassVar[str] = "net_features"
    learns: ClassVar[bool] = True
    extra: ClassVar[str | None] = "nets"
    architecture: str  # A name of `shallows_papers.nets.ARCHITECTURES`
    epochs: int = field(default=10, metadata=COUNT)
    # Size of the seeded draw of training rows for the net, which must fit into memory. None: all rows
    rows: int | None = field(default=None, metadata=COUNT_OR_NULL)
    seed: int = field(default=0, metadata=SEED)

    def check(self) -> str | None:
        architectures.find(self.architecture)
        return super().check()

    def n_features(self, n_inputs: int, image: dict[str, Any] | None) -> int:
        """Return the number of features of the net for `n_inputs` inputs, which may be pixels of `image`."""
        net = architectures.find(self.architecture)
        stated = None if image is None else (image["channels"], image["height"], image["width"])
        return net.n_features(architectures.shape_of_examples(n_inputs, net.of_images, stated))

    def size_after(self, size: DataSize) -> DataSize:
        return size.with_features(self.n_features(size.n_features, size.image))

    def fit(self, table: Table) -> dict[str, Any]:
        """Train the net on the training part of a table; return its description for the record."""
        from shallows_papers.nets import NeuralNetClassifier, NeuralNetRegressor, backend

        found = architectures.find(self.architecture)
        image_shape = table.image and tuple(table.image[key] for key in ("channels", "height", "width"))
        x, y = _training_rows(self, table)
        of_classes = table.class_codes("train") is not None
        self.net_ = net = (NeuralNetClassifier if of_classes else NeuralNetRegressor)(
            self.architecture,
            image_shape=image_shape if found.of_images else None,
            max_epochs=self.epochs,
            random_state=self.seed,
        )
        try:
            with _one_thread():
                net.fit(x, y)
                predicted = net.predict(x)
        except (ShallowsError, ValueError) as error:
            if isinstance(error, MissingExtraError):
                raise
            raise DatasetError(f"The step net_features cannot be applied to '{table.dataset.name}': {error}") from error
        if of_classes:
            quality = {"train_error": 100.0 * float(np.mean(predicted != y))}
        else:
            quality = {"train_rmse": float(np.sqrt(np.mean((predicted - y.reshape(predicted.shape)) ** 2)))}
        used = ("batch_size", "step_size", "input_shape", "n_weights", "precision", "device", "torch")
        return {
            "architecture": self.architecture,
            "source": found.source,
            "trained_on": table.dataset.name,
            "trained_on_rows": len(x),
            "epochs": net.report_["n_epochs"],
            "seed": self.seed,
            **{key: net.report_[key] for key in used},
            **quality,
            "weights_sha256": _sha256(net.weights_),
            "threads": 1 if backend.resolve_device("auto").type == "cpu" else None,
        }

    def transform(self, block: np.ndarray) -> np.ndarray:
        with _one_thread():
            return self.net_.transform(block.astype(np.float32)).astype(np.float64)

    def describe_output(self, table: Table) -> None:
        table.replace_features(self.net_.report_["n_net_features"])


def _training_rows(step: NetFeatures, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows of the net, in float32 like the prepared arrays, and their targets."""
    from shallows_papers.datasets.preparation.row_draws import draw_rows

    codes, n = table.class_codes("train"), table.n_rows("train")
    if codes is None and table.target_coding != "values":
        raise DatasetError(
            f"The step net_features needs classes or values to learn, but the targets are {table.target_coding}."
        )
    y = codes if codes is not None else np.concatenate(list(table.target_blocks("train")))
    if y.ndim > 1 and not y.shape[1]:
        raise DatasetError(f"The step net_features needs targets to learn, but '{table.dataset.name}' has none.")
    if step.rows is not None and step.rows > n:
        raise DatasetError(
            f"The step net_features needs {step.rows:,} rows, but '{table.dataset.name}' has only {n:,} to train on."
        )
    kept = np.arange(n) if step.rows is None else draw_rows(n, step.rows, step.seed, "net_features", codes)
    table.make_dense()
    return table.gather(kept, np.float32), y[kept]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread, because the last digits of a sum depend on the number of threads."""
    from shallows_papers.nets import backend

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
