"""What the papers prove or claim, as analyses that run: what is measured beside what was said.

Each analysis is a function of prepared data that returns an `AnalysisResult`: curves over an index and single numbers.
It knows nothing of the criteria that a claim is judged by; those stand in the configuration. Every module imports only
what its own analyses use, so that a change elsewhere leaves their results valid.

What they share: `results` (the result's type), `samples` (a part of the training data in float64), `eigenvalues`,
`timing` and `doubly_stochastic.batched_trajectories` (many runs on a sample with a known minimum).
"""
