"""Functions that grow by a block of streamed random features at a time."""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {"auto": ".doubly_stochastic:DoublyStochastic", "doubly_stochastic": ".doubly_stochastic:DoublyStochastic"},
)
"""The settings of the estimators' solvers by name."""
