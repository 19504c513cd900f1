"""Regularised risks with any loss, over kernel functions of the training points or over explicit features.

`risk` has the problem and what its solvers keep. Each algorithm has a module: `pegasos`, `norma`, `sdca` (with the dual
losses of `duals`), `svrg` and `sag` (whose steps are as long as `smoothness` allows).
"""
