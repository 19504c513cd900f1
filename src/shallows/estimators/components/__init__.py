"""Kernel PCA and other nonlinear components by doubly stochastic gradients, and kernel PCA on explicit features."""
