"""Machines whose size has a bound: a budget of support vectors, or of hyperplanes for each class.

They take one example at a time, so their steps are compiled (`budgeted_steps`, `hyperplane_steps`); these modules are
imported by the first step, since their compiler is slow to load.
"""
