"""Preparation of verified files: it makes the arrays that training maps into memory.

`shallows_papers.datasets.preparation.pipeline` reads the rows once, applies the steps and writes the arrays. The steps
are in `shallows_papers.datasets.preparation.steps`.
"""
