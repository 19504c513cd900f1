"""Support vector machines in the dual variables of a kernel: solvers that choose the rows that they use.

`dual_problem` has the problem that all of them share and `pair_steps` its compiled steps on two variables. Each
algorithm has a module: `smo`, and with problems of their own `lasvm` (examples one after the other) and
`core_vectors` (the smallest enclosing ball).
"""
