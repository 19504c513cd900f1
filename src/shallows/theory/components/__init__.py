"""What Xie and others (2015) prove and claim of component analysis by doubly stochastic gradients, as analyses."""
