"""Regularised risks with any loss, over kernel functions of the training points or over explicit features.

`risk` has the problem and what its solvers keep. Each algorithm has a module: `pegasos`, `norma`, `sdca`, `svrg` and
`sag` (whose steps are as long as `smoothness` allows). `SOLVERS` has them by name, each as a `RiskSolver`.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "norma": ".norma:NORMA_SOLVER",
        "pegasos": ".pegasos:PEGASOS_SOLVER",
        "sag": ".sag:SAG_SOLVER",
        "saga": ".sag:SAGA_SOLVER",
        "sdca": ".sdca:SDCA_SOLVER",
        "svrg": ".svrg:SVRG_SOLVER",
    },
)
"""Every solver of a regularised risk by its name."""
