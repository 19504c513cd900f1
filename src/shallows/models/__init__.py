"""Models: what a fit leaves, as frozen dataclasses with their arrays and the scores of new points.

A model does not know how it was trained, nor how targets are coded.
"""
