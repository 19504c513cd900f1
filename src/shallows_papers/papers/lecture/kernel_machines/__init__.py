"""Support vector machines on kernels: how solvers approach the optimum, and what they cost."""
