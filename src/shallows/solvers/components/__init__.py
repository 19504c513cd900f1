"""Component analysis by doubly stochastic gradients: functions that grow by blocks of random features, k at a time.

`oja` is kernel PCA (Oja's rule and the generalised Hebbian rule), `warm_start` the coefficients that it starts from and
`component_state` what it keeps; `kernel_svd` and `kernel_cca` relate two views, with start and state in
`two_view_state`. `moments` has the small matrices that steps are made of, and the choice of the block that a step
moves.
"""
