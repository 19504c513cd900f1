"""Functions that grow by a block of streamed random features at a time.

`growing_expansion` has the coefficients of such a function, `expansion` the risk that it minimizes, `doubly_stochastic`
the algorithm with its settings, and `block_policies` the choice of the block that a step moves.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {"auto": ".doubly_stochastic:DoublyStochastic", "doubly_stochastic": ".doubly_stochastic:DoublyStochastic"},
)
"""The settings of the estimators' solvers by name."""
