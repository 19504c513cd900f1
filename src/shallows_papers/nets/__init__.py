"""Small neural nets, for the comparisons of the papers on doubly stochastic gradients (extra ``nets``: PyTorch).

Those papers compare their methods with nets: convolutional nets, trained jointly; two fully connected layers on the
features of such a net ("fixed"); and a fully connected net for molecules. `transform` returns the features of a net's
last pooling layer, and the preparation step ``net_features`` makes a dataset from these features.

PyTorch is imported when a net is first used. All random numbers come from `shallows.streams`, and training uses
`shallows.training`, so curves, checkpoints and divergence checks are the same as for all other methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shallows.utils.lazy_tables import LazyTable

from .architectures import ARCHITECTURES, Architecture

if TYPE_CHECKING:
    from .neural_net import NeuralNetClassifier, NeuralNetRegressor

_MODULES = LazyTable(
    "neural net",
    __name__,
    {"NeuralNetClassifier": ".neural_net", "NeuralNetRegressor": ".neural_net"},
)
"""Modules of names that are imported at first use. Editors and type checkers read the imports above."""

__all__ = ["ARCHITECTURES", "Architecture", "NeuralNetClassifier", "NeuralNetRegressor"]


def __getattr__(name: str) -> Any:
    return _MODULES.attribute(name)
