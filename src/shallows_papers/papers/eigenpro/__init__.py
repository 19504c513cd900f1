"""Analyses of EigenPro (Ma and Belkin 2017): gain and cost of its preconditioner."""
