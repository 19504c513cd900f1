"""What the estimators of least squares over all training points have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import arrays, kernels
from ...fitting import choices as automatic_choice
from ...fitting import early_stopping, leave_one_out_choice
from ...fitting.checks import check_positive, check_whole, is_whole, warn_user
from ...fitting.kernel_sums import FittedKernelSum
from ...fitting.snapshot import prediction_budget
from ...fitting.square_targets import SquareClassTargets
from ...models import precomputed
from ...models.kernel_checks import check_scores
from ..base import Estimator, reports_progress


class KernelMachine(Estimator):
    """Base of the estimators whose model is a sum of kernel functions at all training points."""

    _sums_losses = True  # λ stands beside the sum of the squared errors.

    def _check_parameters(self) -> None:
        super()._check_parameters()
        kernels.kind(self.kernel)  # Report unknown kernels first.
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        automatic_choice.check(self, chooses=hasattr(self, "regularisation"))
        check_positive(self, "step_size", "max_seconds")
        check_whole(self, "batch_size", optional=True)
        check_whole(self, "max_epochs")
        early_stopping.check_parameters(self)
        if hasattr(self, "n_components"):
            leave_one_out_choice.check_components(self)
            if is_whole(self.n_components) and precomputed.is_asked_for(self):
                warn_user(f"n_components={self.n_components} is ignored: a precomputed kernel has no inputs.")

    def _store(self, found: FittedKernelSum) -> None:
        """Set the fitted attributes."""
        for name in ("intercept_", "validation_scores_", "best_validation_score_"):
            vars(self).pop(name, None)  # of a fit with other parameters
        self._model, self._targets = found.model, found.targets
        if isinstance(found.targets, SquareClassTargets):
            self.classes_ = found.targets.classes
        else:
            self.intercept_ = found.targets.intercept
        self.dual_coef_, self.support_ = found.model.coefficients, found.support
        self.bandwidth_ = found.model.kernel.bandwidth
        self._set_course(found.run)
        self._remember_end(found.ended)
        self.effective_params_, self.timings_ = found.report, found.seconds

    @reports_progress
    def _raw_predict(self, X: Any) -> np.ndarray:
        """Outputs in the units of the targets, shape (m, c), for checked X."""
        device = arrays.resolve_device(self.device)
        scores = self._model.scores(X, device, prediction_budget(self._options(), device, share=2))
        check_scores(scores, X)
        return self._targets.unscale(scores)

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return self._targets.decode(scores)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")
