"""Machines of bounded size: a budget of support vectors, or of hyperplanes for each class.

They take one example at a time, so their steps are compiled.
"""
