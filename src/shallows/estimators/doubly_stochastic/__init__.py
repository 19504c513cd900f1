"""Classification, regression and novelty detection by doubly stochastic gradients."""
