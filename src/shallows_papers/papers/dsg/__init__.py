"""Analyses of doubly stochastic gradients: convergence, compared with proved bounds, and cost of iterations."""
