"""Support vector machines in the dual variables of a kernel, by solvers that choose the rows they use."""

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
