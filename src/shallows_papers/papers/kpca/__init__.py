"""Analyses of the theorems and claims of Xie and others (2015) on doubly stochastic component analysis."""
