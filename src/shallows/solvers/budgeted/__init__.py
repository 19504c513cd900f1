"""Machines of bounded size: a budget of support vectors, or of hyperplanes for each class, by compiled steps."""
