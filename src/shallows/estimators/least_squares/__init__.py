"""Estimators of the square loss over the functions of a kernel or of explicit features, one module per method."""
