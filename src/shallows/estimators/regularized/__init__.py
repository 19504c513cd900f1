"""Estimators that minimize a regularized risk, λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ), yᵢ), on a kernel or on features."""
