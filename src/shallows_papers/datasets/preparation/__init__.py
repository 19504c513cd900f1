"""Preparation: from verified files to the arrays that training maps into memory.

`shallows_papers.datasets.preparation.pipeline` reads the rows once, applies the steps and writes the arrays;
`shallows_papers.datasets.preparation.steps` holds the steps.
"""
