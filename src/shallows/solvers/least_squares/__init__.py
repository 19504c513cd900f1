"""Least squares in the space of a kernel, over the span of centres, or on explicit features.

`kernel_problem` holds the problem and the states that most of them share. Each algorithm has a module: `richardson`,
`averaged_richardson`, `eigenpro`, `conjugate_residuals`, `projected`, `feature_eigenpro`, `conjugate_gradients` (with
its Nyström preconditioner), `cholesky`, `block_coordinate_descent` and `feature_block_descent`. `step_rules` chooses
the size of steps, `cycles` varies it, and `selection` picks the algorithm that a rule asks for.
"""
