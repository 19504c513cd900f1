"""Analyses of EigenPro (Ma and Belkin 2017): what its preconditioner gains, and what it costs."""
