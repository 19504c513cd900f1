"""What estimators with ``partial_fit`` share: batches as users hand them over, and visits of each row once.

`stream_batches` cuts arrays and reads generators, `first_rows` keeps rows until there are enough to choose parameters
from, and `labelled_batches` is for classifiers that visit each row once. The rows and steps of the others are the
business of `shallows.fitting.stream_training`.
"""
