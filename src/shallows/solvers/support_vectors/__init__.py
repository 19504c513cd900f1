"""Support vector machines in the dual variables of a kernel: solvers that choose the rows that they use.

`SOLVERS` has those of `KernelSVMClassifier` by name: their settings, see `dual_settings`. `dual_problem` has the
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
        "smo": ".smo:SMO",
        "decomposition": ".decomposition:Decomposition",
        "interior_point": ".interior_point:InteriorPoint",
        "newton": ".primal_newton:KernelNewton",
    },
)
"""Every solver of the support vector machine by its name."""
