"""Linear support vector machines, on dense or sparse rows, by solvers that choose the rows they use."""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "dual_coordinate_descent": ".dual_coordinate_descent:DualCoordinateDescent",
        "primal_newton": ".newton:PrimalNewton",
        "lbfgs": ".lbfgs:LBFGS",
        "cutting_planes": ".cutting_planes:CuttingPlanes",
        "linear_pegasos": ".subgradients:LinearPegasos",
        "svm_sgd": ".subgradients:SVMSGD",
        "folos": ".subgradients:FOLOS",
        "sarah": ".sarah:SARAH",
    },
)
"""Every solver of `LinearSVMClassifier` by its name."""
