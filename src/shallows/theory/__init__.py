"""What the papers prove or claim, as analyses that run: what is measured beside what was said.

Each analysis is a function of prepared data that returns an `AnalysisResult`: curves over an index and single numbers.
It knows nothing of the criteria that a claim is judged by; those stand in the configuration. Every module imports only
what its own analyses use, so that a change elsewhere leaves their results valid.

===========================================  ==========================================================================
`heat_kernel_circle`                         gradient descent under the heat kernel on the circle, in closed form
`eigenvalue_decay`                           how fast the eigenvalues of a kernel matrix fall
`data_summary`                               sizes, labels and ranges of prepared data
`preconditioning.residuals_by_direction`     EigenPro and gradient descent in each eigenvector of the kernel matrix
`preconditioning.epochs_by_batch_size`       epochs of EigenPro and SGD to a given loss, by batch size
`preconditioning.batch_norms`                norms of batches beside the bounds of Theorems 3 and 4
`preconditioning.step_sizes`                 convergence and divergence by step size
`preconditioning.approximate_eigenvectors`   damping and smaller steps with the eigenvectors of a subsample
`preconditioning.iteration_cost`             time of an iteration, as ratios
`preconditioning.eigensystem_cost`           time and error of two randomised eigensystems
`doubly_stochastic.convergence`              errors of doubly stochastic gradients beside their bounds
`doubly_stochastic.expansion_cost`           time and memory of an iteration; bytes of stored features
`doubly_stochastic.orders_of_cost`           growth of times and storage with examples and inputs
===========================================  ==========================================================================

What they share: `results` (the result's type), `samples` (a part of the training data in float64), `eigenvalues`,
`timing` and `doubly_stochastic.batched_trajectories` (many runs on a sample with a known minimum).
"""
