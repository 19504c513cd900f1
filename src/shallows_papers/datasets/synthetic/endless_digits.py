"""Endless MNIST: the digits under small random affine and elastic deformations.

All computations use whole numbers or floating-point operations with a unique result under IEEE 754: sums, products and
quotients, but no sine and no logarithm. Matrix products have whole numbers below 2^53, so they are exact in any order.
So pixels are identical on every machine.
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

_CHUNK = 64  # images per chunk; their arrays fit into the processor's cache
_N_AFFINE = 6  # random words of an image for the affine part; the words for the displacement field follow
_FRACTION = 256  # fixed-point steps of a source coordinate per pixel
_KERNEL_SUM = 1 << 12  # approximate sum of the whole-number weights of the smoothing kernel


@dataclass(frozen=True)
class Deformation:
    r"""The sizes of the deformations. All except the elastic field are uniform between minus and plus the given number.

    Notes
    -----
    Loosli, Canu and Bottou (2007) deform digits by translations of about a pixel and by random smooth fields, which
    include rotations, scalings and shears. There are three differences. Here rotations, scalings and shears are drawn
    separately, so their size is known. The image is resampled at the displaced positions (bilinear), while the authors
    add the displacement times the image's gradient. Strokes are not thickened.

    Each default moves a stroke by about half a pixel, and all together by about one pixel, less than half the width of
    a stroke. So the labels remain correct: for 98.3 % of 1,000 deformed training digits, the nearest of the 60,000
    original digits has the right label. The mean brightness changes by at most 1 %. With translations of 1 pixel,
    rotations up to 10 degrees and displacements of 0.75, the share is 90 %, although the digits are still readable.
    """

    translation: float = field(default=0.5, metadata=between(0, 14))  # Pixels, in each direction
    rotation: float = field(default=7.5, metadata=between(0, 90))  # Degrees
    # Relative change of size, the same in both directions
    scaling: float = field(default=0.08, metadata=between(0, 0.5))
    # Relative change of the width; the height changes by the opposite amount
    stretch: float = field(default=0.05, metadata=between(0, 0.5))
    shear: float = field(default=0.08, metadata=between(0, 1))  # Horizontal pixels per pixel of height
    # Root mean square of the elastic displacement in each direction, in pixels. The field is white noise that is
    # smoothed by a Gaussian.
    displacement: float = field(default=0.45, metadata=between(0, 14))
    smoothness: float = field(default=4.0, metadata=between(1, 28))  # Standard deviation of that Gaussian, in pixels


@dataclass(frozen=True, eq=False, kw_only=True)
class EndlessDigits(Generator):
    """The training digits of MNIST, repeated endlessly with new deformations.

    Example i is the digit ``i % n_digits``. The first pass has the original digits, as in the published MNIST-8M. Later
    passes deform them; the deformation depends on the seed and on i.

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
    deformation: Deformation = Deformation()  # Sizes of the deformations
    plain_first: bool = True  # Whether the first pass has the original digits

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
        """The number of pixels of an image."""
        return self.side**2

    @property
    def side(self) -> int:
        """The side of an image in pixels."""
        return self.images.shape[1]

    def source(self, start: int, stop: int) -> np.ndarray:
        """Return the indices of the digits from which the examples ``start``, ..., ``stop - 1`` are made."""
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
            # Each word has 8 random bytes; a pixel's displacement needs two bytes.
            words = _N_AFFINE + -(-2 * self.d // 8)
            drawn = streams.integers(self.seed, self.name, chunk, n_rows * words).reshape(n_rows, words)
            deformed = deform(images, drawn, self.deformation)
            deformed[: max(n_plain, 0)] = images[: max(n_plain, 0)]
            images = deformed
        return images.reshape(n_rows, -1), labels


def deform(images: np.ndarray, words: np.ndarray, deformation: Deformation) -> np.ndarray:
    """Deform every image by the random words of its row.

    `images` is uint8 of shape (n, side, side), `words` is uint64 of shape (n, 6 + ceil(side^2 / 4)).
    """
    side = images.shape[1]
    xx, xy, yx, yy, move_x, move_y = _affine(words[:, :_N_AFFINE], deformation)
    elastic_x, elastic_y = _fields(words[:, _N_AFFINE:], side, deformation)
    centre = (side - 1) / 2
    offsets = np.arange(side) - centre
    # The position in the source, in pixels, for every pixel of the result.
    x = (xx * offsets)[:, None, :] + (xy * offsets + (centre + move_x))[:, :, None] + elastic_x
    y = (yx * offsets)[:, None, :] + (yy * offsets + (centre + move_y))[:, :, None] + elastic_y
    return _resampled(images, x, y)


def _affine(words: np.ndarray, deformation: Deformation) -> tuple[np.ndarray, ...]:
    """Return the matrix (xx, xy, yx, yy) and the translation of every image, each of shape (n, 1)."""
    u = (words >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1  # uniform in [-1, 1)
    u = u[:, :, None]
    # With the tangent of the half angle, cosine and sine are quotients, which are the same on every machine.
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
    """Return the elastic displacements of every image in both directions, in pixels."""
    n = len(words)
    # Odd whole numbers from -255 to 255. The order of the bytes is the same on big- and little-endian machines.
    noise = np.ascontiguousarray(words, "<u8").view(np.uint8)[:, : 2 * side * side].astype(np.float64)
    noise *= 2
    noise -= 255
    kernel = _smoothing(side, deformation.smoothness)
    # Columns, then rows. No sum exceeds 255 * 2^12 * 2^12 < 2^33, so all sums are exact.
    smooth = (noise.reshape(-1, side) @ kernel).reshape(n, 2, side, side)
    smooth = kernel.T @ smooth
    rms = math.sqrt((256**2 - 1) / 3) * float((kernel[0] ** 2).sum())
    smooth *= deformation.displacement / rms
    return smooth[:, 0], smooth[:, 1]


@functools.lru_cache(maxsize=8)
def _smoothing(side: int, deviation: float) -> np.ndarray:
    """Return the matrix of a Gaussian filter on a circle of `side` pixels, in whole numbers.

    On a circle, displacements are as large at the border as in the middle.
    """
    distance = np.arange(side)
    distance = np.minimum(distance, side - distance)
    weights = np.exp(-((distance / deviation) ** 2) / 2)
    weights = np.rint(weights * (_KERNEL_SUM / weights.sum()))
    return weights[(np.arange(side)[:, None] - np.arange(side)) % side]


def _resampled(images: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the images at fractional positions by bilinear interpolation, with black outside."""
    n, side = images.shape[:2]
    # Add two rings of black pixels. Positions beyond the first ring are moved to it.
    padded = np.zeros((n, side + 2, side + 2), np.uint32)
    padded[:, 1:-1, 1:-1] = images
    column, x = _split(x, side)
    row, y = _split(y, side)
    # Pack the four pixels around a position into one word to read them at once: above left, below left (16 bits up),
    # above right (8 bits up), below right.
    quads = padded[:, :-1, :-1] | padded[:, 1:, :-1] << 16 | padded[:, :-1, 1:] << 8 | padded[:, 1:, 1:] << 24
    row *= side + 1
    row += column
    row += (np.arange(n, dtype=np.int32) * (side + 1) ** 2)[:, None, None]
    found = np.take(quads.ravel(), row)
    # Process both rows of the four pixels at once, in the halves of the word. Each is at most 255 * 256: no overflow.
    both = (found & 0x00FF00FF) * (_FRACTION - x) + (found >> 8 & 0x00FF00FF) * x
    value = (both & 0xFFFF) * (_FRACTION - y) + (both >> 16) * y
    return (value + (1 << 15) >> 16).astype(np.uint8)


def _split(place: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole part of a position, counted from the black ring, and its fraction in 256ths."""
    fixed = np.rint((place + 1) * _FRACTION)
    np.clip(fixed, 0, (side + 1) * _FRACTION - 1, out=fixed)
    fixed = fixed.astype(np.int32)
    return fixed >> 8, (fixed & (_FRACTION - 1)).astype(np.uint32)
