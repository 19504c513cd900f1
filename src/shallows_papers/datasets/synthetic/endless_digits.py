"""Endless MNIST: the digits under small random affine and elastic deformations.

From the random bits to the pixels, all is computed in whole numbers, or in floating-point operations that IEEE 754
rounds in one way only (sums, products and quotients, but no sine and no logarithm; and matrix products of whole numbers
below 2^53, which are exact in any order). So a pixel is the same to the bit on every machine.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows.errors import ShallowsError
from shallows_papers.datasets.parameter_rules import between, broken_rule, missing_parameters
from shallows_papers.datasets.synthetic.generator import Generator

_CHUNK = 64  # images; their arrays stay in the processor's cache
_N_AFFINE = 6  # random words of an image before those of its displacement field
_FRACTION = 256  # steps of a source coordinate in a pixel
_KERNEL_SUM = 1 << 12  # what the whole numbers of the smoothing kernel sum to, about


@dataclass(frozen=True)
class Deformation:
    r"""The sizes of the deformations; all but the elastic field are uniform in plus or minus the stated number.

    Notes
    -----
    Loosli, Canu and Bottou (2007) deform digits by translations of about a pixel and by random smooth fields whose
    low-order parts are rotations, scalings and shears. Here the low-order parts are drawn on their own, so that their
    size can be stated, and the image is resampled at the displaced places (bilinear) where they add the displacement
    times the image's gradient; their thickening of the strokes is left out. Each of the defaults moves a stroke by
    about half a pixel, and all together by about one, less than half its width. The labels then hold: of 1,000 deformed
    training digits the nearest of the 60,000 plain ones has the right label for 98.3 %, and the mean brightness is
    kept to 1 %. With translations of 1 pixel, rotations to 10 degrees and displacements of 0.75 it is 90 %,
    although a person still reads them.
    """

    translation: float = field(default=0.5, metadata=between(0, 14))  # Pixels, in both directions
    rotation: float = field(default=7.5, metadata=between(0, 90))  # Degrees
    # Relative change of size, the same in both directions
    scaling: float = field(default=0.08, metadata=between(0, 0.5))
    # Relative change of the width, and the opposite one of the height
    stretch: float = field(default=0.05, metadata=between(0, 0.5))
    shear: float = field(default=0.08, metadata=between(0, 1))  # Pixels to the side for every pixel of height
    # Root mean square of the elastic displacement, in pixels and in each direction. The field is white noise, smoothed
    # by a Gaussian.
    displacement: float = field(default=0.45, metadata=between(0, 14))
    smoothness: float = field(default=4.0, metadata=between(1, 28))  # Standard deviation of that Gaussian, in pixels


@dataclass(frozen=True, eq=False, kw_only=True)
class EndlessDigits(Generator):
    """The training digits of MNIST, repeated without end and deformed anew each time.

    Example i is the digit ``i % n_digits``. The first pass has the digits themselves, as the published MNIST-8M;
    each later one deforms them by a function of the seed and of i.

    References
    ----------
    G. Loosli, S. Canu and L. Bottou. Training invariant support vector machines using selective sampling. Large-Scale
    Kernel Machines, MIT Press 2007. P. Y. Simard, D. Steinkraus and J. C. Platt. Best practices for convolutional
    neural networks applied to visual document analysis. ICDAR 2003.
    """

    name = "endless_mnist"
    task = "classification"
    made_of = "digits"
    n_classes = 10

    digits: tuple[np.ndarray, np.ndarray]  # uint8 of shape (n, 28, 28) or (n, 784), and labels
    deformation: Deformation = Deformation()  # How far they are deformed
    plain_first: bool = True  # Whether the first pass leaves the digits as they are

    def __post_init__(self) -> None:
        if isinstance(self.deformation, Mapping):
            missing_parameters(Deformation, self.deformation, "kind of deformation")
            object.__setattr__(self, "deformation", Deformation(**self.deformation))
        super().__post_init__()
        images, labels = map(np.asarray, self.digits)
        side = math.isqrt(images[0].size) if len(images) else 0
        if images.dtype != np.uint8 or not len(images) or images[0].size != side**2 or len(labels) != len(images):
            raise ShallowsError(
                f"The digits must be square images of uint8 pixels with a label each, not {images.dtype} of shape "
                f"{images.shape} with {len(labels)} labels."
            )
        object.__setattr__(self, "images", np.ascontiguousarray(images.reshape(len(images), side, side)))
        object.__setattr__(self, "labels", labels.astype(np.int64))

    @property
    def d(self) -> int:
        """Pixels of an image."""
        return self.side**2

    @property
    def side(self) -> int:
        """Pixels of a row."""
        return self.images.shape[1]

    def source(self, start: int, stop: int) -> np.ndarray:
        """Return the numbers of the digits that the examples ``start``, ..., ``stop - 1`` are made of."""
        return np.arange(start, stop) % len(self.images)

    def _problem(self) -> str | None:
        return broken_rule(self.deformation)

    def _rows_per_chunk(self) -> int:
        return _CHUNK

    def _empty(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        return np.empty((n_rows, self.d), np.uint8), np.empty(n_rows, np.int64)

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        first = chunk * n_rows
        source = self.source(first, first + n_rows)
        images, labels = self.images[source], self.labels[source]
        n_plain = len(self.images) - first if self.plain_first else 0
        if n_plain < n_rows:
            # Words of 8 random bytes: two bytes for every pixel's displacement.
            words = _N_AFFINE + -(-2 * self.d // 8)
            drawn = streams.integers(self.seed, self.name, chunk, n_rows * words).reshape(n_rows, words)
            deformed = deform(images, drawn, self.deformation)
            deformed[: max(n_plain, 0)] = images[: max(n_plain, 0)]
            images = deformed
        return images.reshape(n_rows, -1), labels


def deform(images: np.ndarray, words: np.ndarray, deformation: Deformation) -> np.ndarray:
    """Deform every image by the random words of its row.

    Images are uint8 of shape (n, side, side), and words uint64 of shape (n, 6 + ceil(side^2 / 4)).
    """
    side = images.shape[1]
    xx, xy, yx, yy, move_x, move_y = _affine(words[:, :_N_AFFINE], deformation)
    elastic_x, elastic_y = _fields(words[:, _N_AFFINE:], side, deformation)
    centre = (side - 1) / 2
    offsets = np.arange(side) - centre
    # Where every pixel of the result comes from, in pixels of the source.
    x = (xx * offsets)[:, None, :] + (xy * offsets + (centre + move_x))[:, :, None] + elastic_x
    y = (yx * offsets)[:, None, :] + (yy * offsets + (centre + move_y))[:, :, None] + elastic_y
    return _resampled(images, x, y)


def _affine(words: np.ndarray, deformation: Deformation) -> tuple[np.ndarray, ...]:
    """Return the matrix (xx, xy, yx, yy) and the translation of every image, each of shape (n, 1)."""
    u = (words >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1  # uniform in [-1, 1)
    u = u[:, :, None]
    # The rotation by its half-angle's tangent: cosine and sine are then quotients, the same on every machine.
    tangent = u[:, 0] * (round(math.tan(math.radians(deformation.rotation) / 2) * 2**20) / 2**20)
    cosine = (1 - tangent * tangent) / (1 + tangent * tangent)
    sine = 2 * tangent / (1 + tangent * tangent)
    size, stretch = 1 + deformation.scaling * u[:, 1], deformation.stretch * u[:, 2]
    width, height = size * (1 + stretch), size * (1 - stretch)
    shear = deformation.shear * u[:, 3]
    xx, xy = cosine * width, shear * width * cosine - sine * height
    yx, yy = sine * width, shear * width * sine + cosine * height
    return xx, xy, yx, yy, deformation.translation * u[:, 4], deformation.translation * u[:, 5]


def _fields(words: np.ndarray, side: int, deformation: Deformation) -> tuple[np.ndarray, np.ndarray]:
    """Return the elastic displacements of every image in either direction, in pixels."""
    n = len(words)
    # Odd whole numbers from -255 to 255. The bytes are taken in the same order on big- and little-endian machines.
    noise = np.ascontiguousarray(words, "<u8").view(np.uint8)[:, : 2 * side * side].astype(np.float64)
    noise *= 2
    noise -= 255
    kernel = _smoothing(side, deformation.smoothness)
    # Columns, then rows. No sum exceeds 255 * 2^12 * 2^12 < 2^33, so all of them are exact.
    smooth = (noise.reshape(-1, side) @ kernel).reshape(n, 2, side, side)
    smooth = kernel.T @ smooth
    rms = math.sqrt((256**2 - 1) / 3) * float((kernel[0] ** 2).sum())
    smooth *= deformation.displacement / rms
    return smooth[:, 0], smooth[:, 1]


@functools.lru_cache(maxsize=8)
def _smoothing(side: int, deviation: float) -> np.ndarray:
    """Return the matrix of a Gaussian filter on a circle of `side` pixels, in whole numbers.

    On a circle, since the displacements then are as large at the border as in the middle.
    """
    distance = np.arange(side)
    distance = np.minimum(distance, side - distance)
    weights = np.exp(-((distance / deviation) ** 2) / 2)
    weights = np.rint(weights * (_KERNEL_SUM / weights.sum()))
    return weights[(np.arange(side)[:, None] - np.arange(side)) % side]


def _resampled(images: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the images at fractional places, bilinearly, black outside."""
    n, side = images.shape[:2]
    # Two rings of black around; places beyond the first are moved to it.
    padded = np.zeros((n, side + 2, side + 2), np.uint32)
    padded[:, 1:-1, 1:-1] = images
    column, x = _split(x, side)
    row, y = _split(y, side)
    # The four pixels around a place in one word, so that they are gathered at once: above left, below left (16 bits
    # up), above right (8 bits up), below right.
    quads = padded[:, :-1, :-1] | padded[:, 1:, :-1] << 16 | padded[:, :-1, 1:] << 8 | padded[:, 1:, 1:] << 24
    row *= side + 1
    row += column
    row += (np.arange(n, dtype=np.int32) * (side + 1) ** 2)[:, None, None]
    found = np.take(quads.ravel(), row)
    # Both rows of the quad at once, in the halves of the word: at most 255 * 256 each, so nothing is carried.
    both = (found & 0x00FF00FF) * (_FRACTION - x) + (found >> 8 & 0x00FF00FF) * x
    value = (both & 0xFFFF) * (_FRACTION - y) + (both >> 16) * y
    return (value + (1 << 15) >> 16).astype(np.uint8)


def _split(place: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole part of a place, counted from the black ring, and its fraction in 256ths."""
    fixed = np.rint((place + 1) * _FRACTION)
    np.clip(fixed, 0, (side + 1) * _FRACTION - 1, out=fixed)
    fixed = fixed.astype(np.int32)
    return fixed >> 8, (fixed & (_FRACTION - 1)).astype(np.uint32)
