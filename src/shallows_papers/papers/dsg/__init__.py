"""Analyses of doubly stochastic gradients: convergence beside the proved bounds, and cost of an iteration."""
