"""Linear support vector machines, on dense or sparse rows, by solvers that choose their own rows.

`rows` holds the rows as compiled code takes them, `problem` the objective and what all states have in common,
`visits` the orders in which examples are visited. Each method has a module of its own with its settings, such as
`pegasos.LinearPegasos`, and the stepper that they build. `SOLVERS` has the settings by name.
"""

from ...utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "dual_coordinate_descent": ".dual_coordinate_descent:DualCoordinateDescent",
        "pegasos": ".pegasos:LinearPegasos",
        "svm_sgd": ".svm_sgd:SVMSGD",
        "folos": ".folos:FOLOS",
        "newton": ".newton:PrimalNewton",
        "lbfgs": ".lbfgs:LBFGS",
        "sarah": ".sarah:SARAH",
        "bmrm": ".cutting_planes:BMRM",
        "ocas": ".cutting_planes:OCAS",
    },
)
"""Every solver of the linear support vector machine by its name."""
