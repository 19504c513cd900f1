"""Estimators trained by doubly stochastic gradients, whose function is an expansion in streamed random features.

`random_feature_expansion` holds the fit, on a data set or on a stream, and the prediction; `solver_plan` the choice of
the solver's parameters from a sample of the data; `streaming.streamed_fit`, beside this folder, what a stream adds.
Classification, regression and novelty detection have a module each.
"""
