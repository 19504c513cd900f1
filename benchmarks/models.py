"""The estimators of this package that are compared with others, each at its defaults; some with a named solver."""

from __future__ import annotations

from typing import Any

#: Name -> class without its ending, and the parameters that name the solver.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "kernel ridge": ("KernelRidge", {}),
    "kernel ridge, kernel and metric learned": ("KernelRidge", {"kernel": "auto", "metric": "auto"}),
    "EigenPro": ("KernelRidge", {"solver": "eigenpro"}),
    "EigenPro with centers": ("KernelRidge", {"solver": "nystrom_conjugate_gradients"}),
    "EigenPro on random features": ("FeatureRidge", {"solver": "feature_eigenpro"}),
    "ridge on random features": ("FeatureRidge", {}),
    "doubly stochastic gradients": ("DoublyStochastic", {}),
    "exact kernel ridge": ("KernelRidge", {"solver": "cholesky"}),
}


def make(name: str, task: str, random_state: int = 0, **parameters: Any) -> Any:
    """Make one of `MODELS` for ``"classification"`` or ``"regression"``; nested parameters have paths."""
    import shallows

    stem, given = MODELS[name]
    kind = getattr(shallows, stem + ("Classifier" if task == "classification" else "Regressor"))
    calibrated = (
        {"calibration": "auto"} if task == "classification" and "solver" in given and stem == "FeatureRidge" else {}
    )
    return kind(random_state=random_state, **given, **calibrated).set_params(**parameters)
