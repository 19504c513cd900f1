"""Support vector machines in the dual variables of a kernel: solvers that choose the rows that they use.

`dual_problem` has the problem that all of them share and `pair_steps` its compiled steps on two variables. Each
algorithm has a module: `smo`, `decomposition` (working sets of several variables, whose compiled steps are in
`working_set_steps`), and with problems of their own `lasvm` (examples one after the other) and `core_vectors` (the
smallest enclosing ball). `interior_point` and `primal_newton` hold the whole kernel matrix; their problem is in
`dense_problem`.
"""
