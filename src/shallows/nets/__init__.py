"""Small neural nets, for the comparisons of the papers on doubly stochastic gradients (extra ``nets``: PyTorch).

They are the yardstick of those papers, not their subject: the convolutional nets of the experiments, trained jointly;
two fully connected layers on the features of such a net ("fixed"); and the fully connected net for molecules. The
features of a net's last pooling layer come by `transform`, and as prepared datasets by the preparation step
``net_features``.

PyTorch is imported when a net is first used. Weights and whatever else is random come from `shallows.streams`, and
training goes through `shallows.training`, so that curves, checkpoints and the watch for divergence are those of every
other method.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .architectures import ARCHITECTURES, Architecture

if TYPE_CHECKING:
    from .net_classifier import NeuralNetClassifier
    from .net_regressor import NeuralNetRegressor

_MODULES = {"NeuralNetClassifier": "net_classifier", "NeuralNetRegressor": "net_regressor"}
"""Where the names lie that are loaded when they are first used, as the imports above say for editors."""

__all__ = ["ARCHITECTURES", "Architecture", "NeuralNetClassifier", "NeuralNetRegressor"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
