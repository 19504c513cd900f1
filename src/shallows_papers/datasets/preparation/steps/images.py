"""The steps ``grayscale``, ``halves`` and ``views``: pixels of images, and two views of each example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import COUNT, is_number, is_whole, rule
from shallows_papers.datasets.preparation.step import DataSize, FeatureStep, PreparationStep
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table

_PIXELS = rule(lambda value: value is None or is_whole(value, 1), "a positive whole number")
_ORDER = rule(lambda value: value in (None, "planar", "interleaved"), "planar or interleaved")


def _are_weights(weights: Any) -> bool:
    return isinstance(weights, Sequence) and len(weights) == 3 and all(map(is_number, weights))


@dataclass
class _ImageStep(FeatureStep):
    """A step on images. The catalogue gives the values of parameters that are not set.

    ``order``: "planar" if all red values come before the green values, "interleaved" if the three values of a pixel are
    adjacent.
    """

    height: int | None = field(default=None, metadata=_PIXELS)
    width: int | None = field(default=None, metadata=_PIXELS)
    order: str | None = field(default=None, metadata=_ORDER)

    def image(self, table: Table) -> dict[str, Any]:
        """Return the form of the images: the step's parameters, completed from the catalogue."""
        known = dict(table.image or {})
        known |= {key: value for key in ("height", "width", "order") if (value := getattr(self, key)) is not None}
        if "height" not in known or "width" not in known:
            raise DatasetError(
                f"The step {self.name} needs images, but the features of '{table.dataset.name}' are not known to be "
                f"pixels at this step. State the form of the images: '{self.name}: {{height: 32, width: 32}}'."
            )
        known["channels"], rest = divmod(table.n_features, known["height"] * known["width"])
        if rest or not known["channels"]:
            raise DatasetError(
                f"The step {self.name}: {table.n_features:,} features are not images of "
                f"{known['height']} x {known['width']} pixels."
            )
        known.setdefault("order", "planar")
        return known


@dataclass
class Grayscale(_ImageStep):
    """Convert RGB images to one gray channel."""

    name: ClassVar[str] = "grayscale"
    # Weights of red, green and blue. The defaults are luma of ITU-R BT.601, as in Pillow's mode "L" and MATLAB's
    # rgb2gray. They sum to 1, so the range of the values does not change.
    weights: Sequence[float] = field(default=(0.299, 0.587, 0.114), metadata=rule(_are_weights, "three numbers"))

    def size_after(self, size: DataSize) -> DataSize:
        return size.with_features(size.n_features // 3, size.image and {**size.image, "channels": 1})

    def fit(self, table: Table) -> dict[str, Any]:
        self.image_ = self.image(table)
        if self.image_["channels"] != 3:
            raise DatasetError(
                f"The step grayscale needs three channels, but the images have {self.image_['channels']}."
            )
        self.n_pixels_ = self.image_["height"] * self.image_["width"]
        self.weights_ = np.asarray(self.weights, dtype=np.float64)
        # The columns of a color are a contiguous third of all columns, or every third column.
        planar = self.image_["order"] == "planar"
        self.channels_ = [
            slice(c * self.n_pixels_, (c + 1) * self.n_pixels_) if planar else slice(c, None, 3) for c in range(3)
        ]
        return {"weights": self.weights_.tolist()}

    def transform(self, block: Any) -> Any:
        return sum(weight * block[:, channel] for weight, channel in zip(self.weights_, self.channels_, strict=True))

    def describe_output(self, table: Table) -> None:
        table.n_features, table.image, table.views = self.n_pixels_, {**self.image_, "channels": 1}, None
        if table.value_range is not None and abs(self.weights_.sum() - 1) > 1e-9:
            table.value_range = None


@dataclass
class Halves(_ImageStep):
    """Split images into two views: the left half and the right half.

    The record has the columns of each view under ``views``. With an odd width the middle column belongs to the right
    half.
    """

    name: ClassVar[str] = "halves"
    keeps_sparse = True

    def fit(self, table: Table) -> dict[str, Any]:
        image = self.image(table)
        height, width, channels = image["height"], image["width"], image["channels"]
        planar = image["order"] == "planar"
        shape, axis = ((channels, height, width), 2) if planar else ((height, width, channels), 1)
        numbers = np.arange(table.n_features).reshape(shape)
        left, right = (half.ravel() for half in np.split(numbers, [width // 2], axis=axis))
        self.order_ = np.concatenate([left, right])
        self.views_ = [(0, len(left)), (len(left), table.n_features)]
        return {"views": [list(view) for view in self.views_]}

    def transform(self, block: Any) -> Any:
        return block[:, self.order_]

    def describe_output(self, table: Table) -> None:
        table.image, table.views = None, self.views_


@dataclass
class Views(PreparationStep):
    """Make the first features one view and the other features a second view, in separate arrays."""

    name: ClassVar[str] = "views"
    n_first: int = field(metadata=COUNT)  # Features of the first view

    def apply(self, table: Table) -> dict[str, Any]:
        if self.n_first >= table.n_features:
            raise DatasetError(
                f"The step views gives {self.n_first:,} features to the first view, but '{table.dataset.name}' has "
                f"{table.n_features:,} for both views."
            )
        table.image, table.views = None, [(0, self.n_first), (self.n_first, table.n_features)]
        return {"views": [list(view) for view in table.views]}
