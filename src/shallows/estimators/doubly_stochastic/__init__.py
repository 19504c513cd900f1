"""Estimators trained by doubly stochastic gradients, whose function is an expansion in streamed random features.

`random_feature_expansion` holds the fit, on a data set or on a stream, and the prediction; `solver_plan` the choice of
the solver's parameters from a sample of the data; `stream_batches` the checks of what a stream brings; `model_files`
saving and loading, and `model_file_checks` what is refused there. Classification, regression and novelty detection have
a module each.
"""
