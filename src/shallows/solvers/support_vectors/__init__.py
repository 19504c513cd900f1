"""Support vector machines in the dual variables of a kernel: solvers that choose the rows that they use.

`SOLVERS` has those of `KernelSVMClassifier` by name, each with what `dual_solver` says of it. `dual_problem` has the
problem that all of them share and `pair_steps` its compiled steps on two variables. Each algorithm has a module: `smo`,
`decomposition` (working sets of several variables), and with problems of their own `lasvm` (examples one after the
other) and `core_vectors` (the smallest enclosing ball). `interior_point` and `primal_newton` hold the whole kernel
matrix; their problem is in `dense_problem`.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "smo": ".smo:SMO_SOLVER",
        "decomposition": ".decomposition:DECOMPOSITION_SOLVER",
        "interior_point": ".interior_point:INTERIOR_POINT_SOLVER",
        "newton": ".primal_newton:NEWTON_SOLVER",
    },
)
"""Every solver of the support vector machine by its name."""
