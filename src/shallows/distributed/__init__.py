"""Fits by several processes with MPI: each process has a part of the centers or of the features."""

from .fitting import fit

__all__ = ["fit"]
