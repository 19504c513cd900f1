"""Fits: one flat function per kind of model, and the parts that they share.

A function takes checked rows and plain values, and returns a model with a report. What scikit-learn expects of an
estimator is the business of `shallows.estimators`.
"""
