"""Analyses that check what the papers prove or claim. Each paper has a folder here and its targets in config/papers.

Each analysis is a function of prepared data that returns an `AnalysisResult`: curves over an index and single numbers.
The criteria for judging a claim are in the configuration. Every module imports only what its own analyses use, so a
change elsewhere leaves their results valid.

Modules for all papers are `results` (the result type), `samples` (a part of the training data in float64), `timing`,
`resumable`, `data_summary`, and `claim_functions`, which reduces curves to numbers. The second paper on doubly
stochastic gradients (CDSG) uses the analyses in `dsg`.
"""
