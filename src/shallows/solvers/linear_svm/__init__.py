"""Linear support vector machines, on dense or sparse rows, by solvers that choose the rows they use.

`problem` has the objective, the base of the settings, and one machine for each class. `rows` has the rows for compiled
code and the order in which they are visited. The other modules have one method each; `subgradients` has three.
"""

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
