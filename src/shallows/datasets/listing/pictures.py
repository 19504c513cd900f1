"""The first images of a dataset, as a contact sheet and in characters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shallows.datasets.catalogue import Dataset
from shallows.datasets.files import replacing

#: The sheet has so many rows of so many images.
ROWS = 10
_INK = " .:-=+*#%@"


def contact_sheet(dataset: Dataset, images: list[Any]) -> Any:
    """Return the first images in rows of ten as one array of bytes, shape (height, width, 3)."""
    import numpy as np

    height, width, channels = (dataset.picture[key] for key in ("height", "width", "channels"))
    low, high = dataset.value_range or (min(map(np.min, images)), max(map(np.max, images)))
    sheet = np.full((ROWS * (height + 1) + 1, ROWS * (width + 1) + 1, 3), 128, np.uint8)
    for number, image in enumerate(images[: ROWS * ROWS]):
        pixels = np.asarray(image, np.float64).reshape(channels, height, width).transpose(1, 2, 0)
        top = 1 + (number // ROWS) * (height + 1)
        left = 1 + (number % ROWS) * (width + 1)
        scaled = np.clip((pixels - low) / ((high - low) or 1.0), 0.0, 1.0)
        sheet[top : top + height, left : left + width] = np.rint(255 * scaled)
    return sheet


def save_picture(dataset: Dataset, images: list[Any], path: Path) -> None:
    """Save the contact sheet of a dataset's first images as a PNG."""
    from PIL import Image

    with replacing(path) as partial:
        Image.fromarray(contact_sheet(dataset, images)).save(partial, format="PNG")


def thumbnail(dataset: Dataset, image: Any) -> Iterator[str]:
    """Give an image in characters, one line for two rows of pixels."""
    import numpy as np

    height, width, channels = (dataset.picture[key] for key in ("height", "width", "channels"))
    pixels = np.asarray(image, np.float64).reshape(channels, height, width).mean(axis=0)
    low, high = pixels.min(), pixels.max()
    level = np.rint((pixels - low) / ((high - low) or 1.0) * (len(_INK) - 1)).astype(int)
    for row in range(0, height - 1, 2):
        yield "".join(_INK[value] for value in np.maximum(level[row], level[row + 1])).rstrip()
