"""Reference results in the repository: collect them from finished runs, draw them, compare other results with them.

``python -m shallows_papers.reference collect|list|report|verify --scale SCALE``; ``make reference``, ``make report``
and ``make verify`` call it. ``results/reference/README.md`` describes the files.
"""
