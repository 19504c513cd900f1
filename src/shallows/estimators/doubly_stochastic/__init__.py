"""Estimators trained by doubly stochastic gradients, whose function is an expansion in streamed random features.

`random_feature_expansion` has what the three have in common; the fit is `shallows.fitting.expansion`, and a stream goes
on with it by `shallows.fitting.stream_training`.
Classification, regression and novelty detection have a module each.
"""
