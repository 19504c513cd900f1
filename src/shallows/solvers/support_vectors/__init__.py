"""Support vector machines in the dual variables of a kernel, by solvers that choose the rows they use.

`dual_problem` has the shared problem and settings; `smo` also has the compiled steps on two variables. `interior_point`
and `primal_newton` keep the whole kernel matrix, see `dense_problem`. `lasvm` and `core_vectors` have their own
problems.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "smo": ".smo:SMO",
        "decomposition": ".decomposition:Decomposition",
        "interior_point": ".interior_point:InteriorPoint",
        "kernel_newton": ".primal_newton:KernelNewton",
        "lasvm": ".lasvm:LASVM",
    },
)
"""Every solver of `KernelSVMClassifier` by its name."""
