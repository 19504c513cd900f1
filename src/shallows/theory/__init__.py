"""What the papers prove or claim, as checks that run: what is measured, beside what was said.

Each function is an analysis of prepared data: it returns a `Findings`, curves over an index of its own with single
numbers beside them, and knows nothing of the criteria that a claim is judged by, which stand in the configuration.

=====================  ====================================================================================
`circle`               gradient descent under the heat kernel on the circle: what it reaches, and when
`decay`                how fast the eigenvalues of kernel matrices fall
`concentration`        the norm of a batch's preconditioned operator beside the bounds of Theorems 3 and 4
`acceleration`         what flattening gains in each direction, and in small batches
`stability`            speed and divergence against the size of the step
`damping`              damping against smaller steps, where eigenvectors are approximate
`cost`                 time of an iteration and of an eigensystem, as ratios within one process
`trajectories`         doubly stochastic gradients against a known minimum, beside the bounds of their theorems
`bounds`               the bounds themselves
`population`           a sample as the population, with its minimum; `lockstep` follows the trajectories to it
`growth`               time, memory and orders of cost of functions that grow
`facts`                what the data are: sizes, labels, ranges
=====================  ====================================================================================
"""
