"""Components of one view or of two, as functions that grow by blocks of streamed random features.

`component_steps` has what all solvers share; `oja` is kernel PCA; `two_view_state` has the problem and state of two
views, with the solvers `kernel_svd` and `kernel_cca`.
"""
