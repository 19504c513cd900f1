"""Linear models on explicit features whose coefficients are the solution of one system of equations.

Ridge regression on the features of any map, by one system or block by block; the extreme learning machine, which is
that on hidden units with random weights; Gaussian processes, which have variances beside it; and random kitchen sinks,
which have bounds on the coefficients in place of the ridge, and a search. The features are those of the transformers of
`feature_maps`; a model is a fitted transformer and coefficients.
"""
