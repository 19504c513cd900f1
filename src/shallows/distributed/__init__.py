"""Fits by several processes with MPI: each process has a part of the centers or of the features."""

from .mpi import Mpi

__all__ = ["Mpi"]
