"""Feature maps as scikit-learn transformers, to stand before a linear model in a pipeline.

A map is chosen by a kernel and regenerated from a seed, or from landmarks among the training points. The maps
themselves are those of `shallows.features`; a transformer chooses the bandwidth, centres the points, and brings them to
the device and back. A further one is a module here with a class that derives from `base.FeatureMapTransformer` and
defines `_make_map`. Plain and sparse random projections, which preserve distances and need no kernel, are those of
`sklearn.random_projection`.
"""
