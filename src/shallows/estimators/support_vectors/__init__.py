"""Estimators: support vector machines in their dual variables, whose solvers choose the rows that they use."""
