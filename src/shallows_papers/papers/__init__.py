"""What the papers prove or claim, as analyses that run: a folder for each paper, next to its targets in config/papers.

Each analysis is a function of prepared data that returns an `AnalysisResult`: curves over an index and single numbers.
It knows nothing of the criteria that a claim is judged by; those stand in the configuration. Every module imports only
what its own analyses use, so that a change elsewhere leaves their results valid.

Shared by all: `results` (the result's type), `samples` (a part of the training data in float64), `timing`,
`resumable` and `data_summary`; and `claim_functions`, which make numbers of curves. The second paper on doubly
stochastic gradients (CDSG) uses the analyses in `dsg`.
"""
