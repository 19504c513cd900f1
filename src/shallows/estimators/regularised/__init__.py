"""Estimators that minimise a regularised risk, λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ), yᵢ), on a kernel or on explicit features.

`regularised_risk` has the classifier and the regressor; their fit is `shallows.fitting.regularised_risk`.
"""
