"""Component analysis by doubly stochastic gradients: functions that grow by blocks of random features, k at a time.

`oja` is kernel PCA (Oja's rule and the generalised Hebbian rule), `warm_start` the coefficients that it starts from,
`component_state` what the solvers keep, and `block_visits` the choice of the block that a step moves.
"""
