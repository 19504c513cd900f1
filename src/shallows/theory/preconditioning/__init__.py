"""Analyses of EigenPro: what its preconditioner gains, in which directions and batches, at which step and cost."""
