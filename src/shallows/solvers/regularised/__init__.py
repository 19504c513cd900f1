"""Regularised risks with any loss, over kernel functions of the training points or over explicit features.

`risk` has the problem and what its solvers keep. Each algorithm has a module: `pegasos`, `norma`, `sdca`, `svrg` and
`sag` (whose steps are as long as `smoothness` allows), with two classes: the settings, such as `sdca.SDCA`, and the
stepper that they build, `sdca.SDCAStepper`. `SOLVERS` has the settings by name.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "norma": ".norma:NORMA",
        "pegasos": ".pegasos:Pegasos",
        "sag": ".sag:SAG",
        "saga": ".sag:SAGA",
        "sdca": ".sdca:SDCA",
        "svrg": ".svrg:SVRG",
    },
)
"""Every solver of a regularised risk by its name."""
