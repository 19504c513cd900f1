"""Feature maps as scikit-learn transformers, for pipelines with a linear model.

The maps are in `shallows.features`; a transformer chooses the bandwidth, centers the points, and uses the device. A new
transformer is a class that derives from `base.FeatureMapTransformer` and sets `_map` and `_map_name`. Random
projections, which need no kernel, are in `sklearn.random_projection`.
"""
