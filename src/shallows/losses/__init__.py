"""Losses: their values and derivatives, the coding of targets, and probabilities.

With u the score and y the target, summed over the outputs of an example:

====================  ==========================================  ==================================  =========
name                  ℓ(u, y)                                     ℓ'(u, y), or a subgradient          coding
====================  ==========================================  ==================================  =========
square                ½ (u − y)²                                  u − y                               values
hinge                 max(0, 1 − yu)                              −y [yu < 1]                         signs
squared_hinge         ½ max(0, 1 − yu)²                           −y max(0, 1 − yu)                   signs
logistic              log(1 + e^{−yu})                            −y / (1 + e^{yu})                   signs
softmax               log Σ e^{z_r} − z_y                         softmax(z) − e_y                    indicator
multiclass_hinge      max_r {[r ≠ y] − z_y + z_r}                 e_r̂ − e_y                           indicator
epsilon_insensitive   max(0, |u − y| − ε)                         sign(u − y) [|u − y| > ε]           values
huber                 ½ r² for |r| ≤ δ, else δ (|r| − δ/2)        clip(r, −δ, δ), r = u − y           values
quantile              max(τ (y − u), (τ − 1) (y − u))             −τ for u < y, 1 − τ for u > y       values
novelty               max(0, ρ − u) / ν − ρ                       −[u < ρ] / ν                        offset
====================  ==========================================  ==================================  =========

At a kink the derivative is 0 if 0 is a subgradient, as in the strict inequalities above.
"""

import dataclasses
from typing import Any

from ..errors import ShallowsError, UnknownNameError
from ..utils.lazy_tables import LazyTable
from .base import Loss

LOSSES = LazyTable(
    "loss",
    __name__,
    {
        "square": ".regression:Square",
        "hinge": ".margins:Hinge",
        "squared_hinge": ".margins:SquaredHinge",
        "logistic": ".margins:Logistic",
        "softmax": ".multiclass:Softmax",
        "multiclass_hinge": ".multiclass:MulticlassHinge",
        "epsilon_insensitive": ".regression:EpsilonInsensitive",
        "huber": ".regression:Huber",
        "quantile": ".regression:Quantile",
        "novelty": ".novelty:Novelty",
    },
)
"""Every loss by its name."""

__all__ = [*LOSSES.attributes(), "LOSSES", "Loss", "make"]


def __getattr__(name: str) -> Any:
    return LOSSES.attribute(name)


def make(name: str | Loss, **parameters: Any) -> Loss:
    """The loss of a name; loss objects are returned unchanged. Wrong names or parameters raise an error."""
    if isinstance(name, Loss):
        if parameters:
            raise ShallowsError(f"The loss {name.name!r} has its own parameters; leave out {sorted(parameters)}.")
        return name
    if isinstance(name, type) and issubclass(name, Loss):
        raise ShallowsError(f"loss={name.__name__} is a class. Give an object: loss={name.__name__}().")
    if not isinstance(name, str):
        raise UnknownNameError("loss", name, LOSSES)
    loss = LOSSES[name]
    takes = sorted(field.name for field in dataclasses.fields(loss))
    unknown = sorted(set(parameters) - set(takes))
    if unknown:
        raise ShallowsError(
            f"The loss {name!r} takes {', '.join(takes) or 'no parameter'}; it does not take {', '.join(unknown)}."
        )
    return loss(**parameters)
