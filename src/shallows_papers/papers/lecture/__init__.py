"""Analyses of the lecture (Minhas) on linear and kernel machines, random units and machines of bounded size."""
