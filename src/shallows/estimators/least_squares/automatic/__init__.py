"""What estimators of least squares choose from their training data: bandwidth, regularisation, calibration.

`choices` finds the bandwidth and λ by leave-one-out errors, `narrower_bandwidth` a narrower one where there are many
rows. `calibration` learns probabilities from the outputs of functions that were fitted without the points,
and `judged_calibration` uses what is as good as no calibration on rows kept apart.
"""
