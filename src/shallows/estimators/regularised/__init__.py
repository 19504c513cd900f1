"""Estimators that minimise a regularised risk, λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ), yᵢ), on a kernel or on explicit features.

`regularised_risk` holds the fit and the prediction that all share, `risk_targets` the coding of classes and of values,
`batch_orders` the orders in which batches are visited; each method has a module of its own.
"""
