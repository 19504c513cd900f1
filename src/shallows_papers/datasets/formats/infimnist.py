"""MNIST-8M made from MNIST by the rule of its authors' program infimnist, which needs no file of 8 million images.

The rows of MNIST-8M have the numbers i = 10,000, …, 8,109,999. The first are the training digits. A later row is the
digit a = (i − 10,000) mod n with a deformation field along each of its two tangent vectors,

    x = X_a ± (F_{k₁} T_{a,0} − F_{k₂} T_{a,1}),    k₁ = (131071 i mod 2³²) mod (f − 1),    k₂ = (k₁ + 1 + 2i) mod f

for f fields, with minus if k₁ + k₂ is odd. x is cut to 0 to 255, truncated, and moved by at most a pixel, by the
number k₁ mod 9. Sums and products are in float32, as there, so that the pixels are those of the published file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import naming
from shallows_papers.datasets.formats.idx import read_idx
from shallows_papers.datasets.sources import ArrayPart, Block

FIRST = 10_000
"""The number of the first training digit; smaller numbers are the test digits."""

_BLOCK = 2048  # rows that are deformed at once

#: The moves of the numbers 0 to 8.
_MOVES = ("up", "down", "left", "right", "up left", "up right", "down left", "down right", "")


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read the test digits, or make the first ``n_train`` training rows."""
    images, labels = paths[f"{part}_images"], paths[f"{part}_labels"]
    with naming(images, form.format):
        x, y = read_idx(images), read_idx(labels)
        if len(x) != len(y):
            raise ValueError(f"it has {len(x):,} images, but {labels.name} has {len(y):,} labels")
    if part == "test":
        yield from ArrayPart(x.reshape(len(x), -1), y).blocks(rows)
        return
    fields, tangents = (_floats(paths[name], x[0].size) for name in ("fields", "tangents"))
    with naming(paths["tangents"], form.format):
        if len(tangents) != 2 * len(x):
            raise ValueError(f"it has {len(tangents):,} vectors, but {len(x):,} digits have two each")
    tangents = tangents.reshape(len(x), 2, -1)
    for start in range(0, dataset.n_train, min(rows, _BLOCK)):
        numbers = FIRST + np.arange(start, min(start + min(rows, _BLOCK), dataset.n_train))
        digits = (numbers - FIRST) % len(x)
        made = deform(x[digits], tangents, fields, numbers)
        yield Block(made.reshape(len(numbers), -1), y[digits])


def deform(images: np.ndarray, tangents: np.ndarray, fields: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The rows of some numbers from the images of their digits.

    `images` is uint8 of shape (m, side, side), `tangents` of all n digits (n, 2, side²), `fields` (f, side²), and
    `numbers` (m,).
    """
    plain = numbers < FIRST + len(tangents)
    if plain.all():
        return images
    digits = (numbers - FIRST) % len(tangents)
    first = (numbers.astype(np.uint64) * 131071 % 2**32 % (len(fields) - 1)).astype(np.int64)
    second = (first + 1 + 2 * numbers) % len(fields)
    along = np.asarray(tangents[digits])
    change = fields[first] * along[:, 0] - fields[second] * along[:, 1]
    change[(first + second) % 2 == 1] *= np.float32(-1)
    pixels = images.reshape(len(images), -1).astype(np.float32) + change
    made = np.clip(pixels, 0, 255).astype(np.uint8).reshape(images.shape)
    for move, name in enumerate(_MOVES):
        chosen = first % 9 == move
        made[chosen] = _moved(made[chosen], name)
    made[plain] = images[plain]
    return made


def _moved(images: np.ndarray, directions: str) -> np.ndarray:
    """Images moved by a pixel. As in the program, pixels that leave a row to the side enter its neighbor.

    It then clears the first column after a move to the left, and the second one after a move to the right.
    """
    side = images.shape[1]
    flat = images.reshape(len(images), side**2)
    for direction in directions.split():
        step = side if direction in ("up", "down") else 1
        moved = np.zeros_like(flat)
        if direction in ("up", "left"):
            moved[:, :-step] = flat[:, step:]
        else:
            moved[:, step:] = flat[:, :-step]
        if direction in ("left", "right"):
            moved[:, (0 if direction == "left" else 1) :: side] = 0
        flat = moved
    return flat.reshape(images.shape)


def _floats(path: Path, size: int) -> np.ndarray:
    """The vectors of a file of little-endian float32 numbers, shape (count, size), without reading all of them."""
    with naming(path, "infimnist"):
        length = path.stat().st_size
        if not length or length % (4 * size):
            raise ValueError(f"its {length:,} bytes are not float32 images of {size:,} pixels")
        return np.memmap(path, "<f4", "r", shape=(length // (4 * size), size))
