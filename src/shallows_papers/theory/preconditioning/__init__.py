"""Analyses of EigenPro: what its preconditioner gains, by direction, batch size, step and cost."""
