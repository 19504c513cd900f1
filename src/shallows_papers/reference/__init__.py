"""Reference results in the repository: collected from finished runs, drawn without training, compared with others.

``python -m shallows_papers.reference collect|list|report|verify --scale SCALE``; ``make reference``, ``make report``
and ``make verify`` call it. What the files are is said in ``results/reference/README.md``.
"""
