"""The steps ``grayscale``, ``halves`` and ``views``: pixels of images, and two views of each example."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import COUNT
from shallows_papers.datasets.preparation.step import DataSize, FeatureStep, PreparationStep
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table


class _ImageStep(FeatureStep):
    """A step on images, whose form the catalogue gives: all red values, then all green values, then all blue ones."""

    def image(self, table: Table) -> dict[str, Any]:
        """Return the form of the images."""
        if not table.image:
            raise DatasetError(
                f"The step {self.name} needs images, but the features of '{table.dataset.name}' are not known to be "
                "pixels at this step. State their form in the catalogue, under picture."
            )
        if math.prod(table.image[key] for key in ("height", "width", "channels")) != table.n_features:
            raise DatasetError(
                f"The step {self.name}: {table.n_features:,} features are not images of "
                f"{table.image['height']} x {table.image['width']} pixels in {table.image['channels']} channels."
            )
        return dict(table.image)


@dataclass
class Grayscale(_ImageStep):
    """Convert RGB images to one gray channel."""

    name: ClassVar[str] = "grayscale"
    # Of red, green and blue: luma of ITU-R BT.601, as in Pillow's mode "L" and MATLAB's rgb2gray. They sum to 1, so the
    # range of the values does not change.
    weights: ClassVar[tuple[float, ...]] = (0.299, 0.587, 0.114)

    def size_after(self, size: DataSize) -> DataSize:
        return size.with_features(size.n_features // 3, size.image and {**size.image, "channels": 1})

    def fit(self, table: Table) -> dict[str, Any]:
        self.image_ = self.image(table)
        if self.image_["channels"] != 3:
            raise DatasetError(
                f"The step grayscale needs three channels, but the images have {self.image_['channels']}."
            )
        self.n_pixels_ = self.image_["height"] * self.image_["width"]
        self.channels_ = [slice(c * self.n_pixels_, (c + 1) * self.n_pixels_) for c in range(3)]
        return {"weights": list(self.weights)}

    def transform(self, block: Any) -> Any:
        return sum(weight * block[:, channel] for weight, channel in zip(self.weights, self.channels_, strict=True))

    def describe_output(self, table: Table) -> None:
        table.n_features, table.image, table.views = self.n_pixels_, {**self.image_, "channels": 1}, None


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
        numbers = np.arange(table.n_features).reshape(channels, height, width)
        left, right = (half.ravel() for half in np.split(numbers, [width // 2], axis=2))
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
