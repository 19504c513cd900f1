"""Least squares in the space of a kernel, over the span of centres, or on explicit features.

`kernel_problem` has what most of them are given and keep. Each algorithm has a module: `richardson`,
`averaged_richardson`, `eigenpro`, `conjugate_residuals`, `projected`, `feature_eigenpro`, `conjugate_gradients` (with
the preconditioner of `nystrom`) and `cholesky`. `step_rules` chooses the size of steps, `cycles` varies it,
`step_bounds` bounds it, and `selection` picks the algorithm that a rule asks for.
"""
