"""Trainings that several processes share, by MPI: each has a part of the centres or of the features.

`fit` is called by all processes of an MPI program with the same estimator and the same data.
"""

from .fitting import fit

__all__ = ["fit"]
