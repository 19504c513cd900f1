"""Architectures as data: the layers of each net, the shapes of their outputs and the sizes of their weights.

This module does not use PyTorch, so a plan can compute the width of a net's features without importing it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shallows.errors import ShallowsError, UnknownNameError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """A layer. Shapes are for one example, (channels, height, width) or (units,)."""

    def shape_after(self, shape: Shape) -> Shape:
        """Return the shape of the output for a shape of the input."""
        return shape

    def weights(self, shape: Shape) -> dict[str, tuple[Shape, int]]:
        """Return the shape and the number of inputs per unit (0 for biases) of each weight, for an input shape."""
        return {}

    def products(self, shape: Shape) -> int:
        """Return the multiplications and additions for one example, for a shape of the input."""
        return 0


@dataclass(frozen=True)
class Convolution(Layer):
    """Filters that slide over the image by one pixel, with the activation ``"relu"``, ``"tanh"`` or None."""

    filters: int
    size: int = 5
    padding: int = 2
    activation: str | None = "relu"

    def shape_after(self, shape: Shape) -> Shape:  # noqa: D102
        _, height, width = _image(shape)
        grown = 2 * self.padding - self.size + 1
        return _positive((self.filters, height + grown, width + grown), shape, self)

    def weights(self, shape: Shape) -> dict[str, tuple[Shape, int]]:  # noqa: D102
        inputs = shape[0] * self.size**2
        return {"weight": ((self.filters, shape[0], self.size, self.size), inputs), "bias": ((self.filters,), 0)}

    def products(self, shape: Shape) -> int:  # noqa: D102
        return math.prod(self.shape_after(shape)) * shape[0] * self.size**2


@dataclass(frozen=True)
class MaxPool(Layer):
    """The largest value of each window. A last window may extend beyond the border, as in cuda-convnet."""

    size: int
    stride: int

    def __post_init__(self) -> None:
        if not 1 <= self.stride <= self.size:
            raise ShallowsError(f"Windows of {self.size} pixels with a stride of {self.stride} would skip pixels.")

    def shape_after(self, shape: Shape) -> Shape:  # noqa: D102
        channels, height, width = _image(shape)
        sides = (-(-(side - self.size) // self.stride) + 1 for side in (height, width))
        return _positive((channels, *sides), shape, self)


@dataclass(frozen=True)
class ResponseNorm(Layer):
    """Divides by ``(1 + scale/size Σ u²)^power``, the sum over ``size`` neighboring channels at the same position."""

    size: int = 9
    scale: float = 1e-3
    power: float = 0.75

    def shape_after(self, shape: Shape) -> Shape:  # noqa: D102
        _image(shape)
        return shape


@dataclass(frozen=True)
class Local(Layer):
    """Like a convolution, but with different filters at every position."""

    filters: int
    size: int = 3
    padding: int = 1
    activation: str | None = "relu"

    shape_after = Convolution.shape_after

    def weights(self, shape: Shape) -> dict[str, tuple[Shape, int]]:  # noqa: D102
        filters, height, width = self.shape_after(shape)
        inputs = shape[0] * self.size**2
        return {"weight": ((height * width, filters, inputs), inputs), "bias": ((filters, height * width), 0)}

    products = Convolution.products


@dataclass(frozen=True)
class Dense(Layer):
    """Fully connected units."""

    units: int
    activation: str | None = "relu"

    def shape_after(self, shape: Shape) -> Shape:  # noqa: D102
        return (self.units,)

    def weights(self, shape: Shape) -> dict[str, tuple[Shape, int]]:  # noqa: D102
        inputs = math.prod(shape)
        return {"weight": ((self.units, inputs), inputs), "bias": ((self.units,), 0)}

    def products(self, shape: Shape) -> int:  # noqa: D102
        return math.prod(shape) * self.units


@dataclass(frozen=True)
class Architecture:
    """The layers of a net without the output layer, which is linear with one unit per class or target.

    Attributes
    ----------
    body : tuple of Layer
        Layers up to the layer whose outputs are the net's features, which is the last pooling layer if there is one.
    top : tuple of Layer
        Hidden layers above the features.
    crop : int or None
        Images are cut to squares with this side in pixels. In training, the position and a reflection are random;
        otherwise the middle is used.
    steps : float or None
        Each input x becomes several, tanh((x − v) / steps) for v = 0, steps, 2 steps, ... up to the largest value
        in the training data.
    source : str
        Origin of the architecture, and choices made here.
    """

    body: tuple[Layer, ...]
    top: tuple[Layer, ...] = ()
    crop: int | None = None
    steps: float | None = None
    source: str = ""

    @property
    def of_images(self) -> bool:
        """Whether the inputs must be images."""
        return any(isinstance(layer, Convolution | MaxPool | ResponseNorm | Local) for layer in (*self.body, *self.top))

    def layers(self, n_outputs: int) -> dict[str, Layer]:
        """All layers by their names: ``body0``, ..., ``top0``, ..., ``output``."""
        named = {f"{part}{place}": one for part in ("body", "top") for place, one in enumerate(getattr(self, part))}
        return {**named, "output": Dense(n_outputs, activation=None)}

    def cropped(self, shape: Shape) -> Shape:
        """Return the shape of the first layer's input for the shape of an example; images are cut to side ``crop``."""
        if self.crop is None:
            return shape
        channels, height, width = _image(shape)
        if min(height, width) < self.crop:
            raise ShallowsError(
                f"Images of {height} x {width} pixels are too small to be cut to a side of {self.crop} pixels."
            )
        return (channels, self.crop, self.crop)

    def shapes(self, shape: Shape, n_outputs: int) -> dict[str, Shape]:
        """Return the shape of each layer's input by the layer's name, for the shape of a coded example.

        Raises
        ------
        ShallowsError
            If the net needs images and the examples are not images, or if the images are too small.
        """
        shape, found = self.cropped(shape), {}
        for name, layer in self.layers(n_outputs).items():
            found[name] = shape
            shape = layer.shape_after(shape)
        return found

    def n_features(self, shape: Shape) -> int:
        """Width of the features of an example of this shape."""
        shape = self.cropped(shape)
        for layer in self.body:
            shape = layer.shape_after(shape)
        return math.prod(shape)

    def products(self, shape: Shape, n_outputs: int) -> int:
        """Multiplications and additions to predict one example."""
        layers = self.layers(n_outputs)
        return sum(layers[name].products(one) for name, one in self.shapes(shape, n_outputs).items())


_CUDA_CONVNET = (
    Convolution(64),
    MaxPool(3, 2),
    ResponseNorm(),
    Convolution(64),
    ResponseNorm(),
    MaxPool(3, 2),
)
_ON_CROPS = (
    "Features of 6 x 6 x 64 = 2,304 numbers, on pieces of 24 x 24 pixels, as the authors' released layer files and "
    "cuda-convnet's 'conv-local-11pct' have them."
)

ARCHITECTURES: dict[str, Architecture] = {
    "lenet": Architecture(
        body=(Convolution(16), MaxPool(2, 2), Convolution(32), MaxPool(2, 2)),
        top=(Dense(128),),
        source=(
            "Li and Póczos, appendix B, after LeNet-5: 16 and 32 filters, rectified, 128 units, features of "
            "7 x 7 x 32 = 1,568 numbers. Size and padding of the filters and the windows of the pooling are those of "
            "the released layer file of Dai et al. (5, 2, 2 x 2); the papers do not state them."
        ),
    ),
    "cuda_convnet": Architecture(
        body=_CUDA_CONVNET,
        top=(Dense(128),),
        crop=24,
        source=(
            f"Li and Póczos: two fully connected layers on two convolutions. {_ON_CROPS} The width of the hidden one "
            "is not stated for CIFAR-10; 128 as for MNIST."
        ),
    ),
    "cuda_convnet_local": Architecture(
        body=_CUDA_CONVNET,
        top=(Local(64), Local(32)),
        crop=24,
        source=f"Dai et al.: two convolutions and two local layers of 64 and 32 filters of 3 x 3. {_ON_CROPS}",
    ),
    "top_layers": Architecture(
        body=(Dense(128),),
        source="Li and Póczos, 'Fixed': the two fully connected layers alone, to be trained on the features of a net.",
    ),
    "molecules": Architecture(
        body=(Dense(400, "tanh"), Dense(100, "tanh")),
        steps=1.0,
        source=(
            "Montavon et al. (NIPS 2012), whose 3.51 kcal/mol Dai et al. quote: every entry of the Coulomb matrix in "
            "steps of 1, then 400 and 100 units. Dai et al. state no net."
        ),
    ),
    "molecules_plain": Architecture(
        body=(Dense(400, "tanh"), Dense(100, "tanh")),
        source=(
            "The layers of 'molecules' without the steps, for Coulomb matrices of 75 atoms (MolecularSpace), whose "
            "steps would be ten thousands of inputs. Dai et al. state no net; the widths are those of Montavon et al."
        ),
    ),
}


def find(architecture: str | Architecture) -> Architecture:
    """Return the architecture with a name. An `Architecture` is returned unchanged."""
    if isinstance(architecture, Architecture):
        return architecture
    UnknownNameError.check("architecture of a neural net", architecture, ARCHITECTURES)
    return ARCHITECTURES[architecture]


def shape_of_examples(n_inputs: int, of_images: bool, image_shape: Any = None) -> Shape:
    """Return the shape of one example: the given shape, or square images with one or three channels.

    ``image_shape``: channels, height and width, in the order of a row (all of one channel before the next).
    """
    if not of_images:
        return (n_inputs,)
    if image_shape is not None:
        try:
            stated = tuple(map(int, image_shape))
        except (TypeError, ValueError):
            stated = ()
        if len(stated) != 3 or min(stated) < 1 or math.prod(stated) != n_inputs:
            raise ShallowsError(
                f"image_shape must be three whole numbers, channels, height and width, whose product is the number of "
                f"features, {n_inputs:,}; got {image_shape!r}."
            )
        return stated
    for channels in (1, 3):
        side = math.isqrt(n_inputs // channels)
        if side and channels * side * side == n_inputs:
            return (channels, side, side)
    raise ShallowsError(
        f"{n_inputs:,} features are not square images with one or three channels. Set "
        "image_shape=(channels, height, width), or use an architecture that does not need images."
    )


def _image(shape: Shape) -> Shape:
    if len(shape) != 3:
        raise ShallowsError(f"A layer for images got examples of shape {shape}.")
    return shape


def _positive(after: Shape, before: Shape, layer: Layer) -> Shape:
    if min(after) < 1:
        raise ShallowsError(f"Images of {before[1]} x {before[2]} pixels are too small for {layer}.")
    return after
