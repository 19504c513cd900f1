"""Machines of bounded size: budgets of support vectors, of hyperplanes for each class, and of landmarks.

What a prediction costs is fixed before the fit, and does not grow with the training set. The first two take one example
at a time, from sparse rows as they are, and go on with `partial_fit`.
"""
