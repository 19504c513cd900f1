"""Solvers of linear support vector machines against the exact solution: convergence, iterations needed, orders."""
