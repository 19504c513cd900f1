"""Linear support vector machines: one estimator, whose parameter ``solver`` names the method that trains it."""
