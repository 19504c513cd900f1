"""Regularized risks with any loss, over kernel functions of the training points or over explicit features."""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "norma": ".norma:NORMA",
        "pegasos": ".pegasos:Pegasos",
        "sag": ".variance_reduced:SAG",
        "sdca": ".sdca:SDCA",
        "svrg": ".variance_reduced:SVRG",
    },
)
"""Every solver of a regularized risk by its name."""
