"""What estimators with ``partial_fit`` share: batches as users hand them over, rows that wait, and steps with the rest.

`batches` cuts arrays and reads generators, `first_rows` keeps rows until there are enough to begin with, `streamed_fit`
begins a model with a fit to its first rows and goes on by steps, `labelled_batches` is for classifiers that visit each
row once, and `last_good_state` keeps what a failure returns to.
"""
