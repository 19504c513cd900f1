"""Classifiers that learn from labelled batches, each row once; the first rows decide what parameters leave open."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.validation import _num_samples

from ...fitting.labels import refuse_balanced
from ...fitting.rows import TrainingSet
from .. import model_classes
from ..base import Estimator, keeps_model_on_failure
from ..column_units import LEAST_ROWS
from . import first_rows
from .stream_batches import Batch


class LabelledBatches(Estimator):
    """Base of the classifiers whose ``partial_fit`` visits every row once."""

    _infers_classes = False
    """Whether the classes may be left out of the first call, and are those of its labels."""

    def _learn(self, batch: Batch, *, begins: bool) -> None:
        """Begin a model with a batch (X, y, weights, ...), or go on with it."""
        raise NotImplementedError

    def _batch(self, data: TrainingSet, n_given: int) -> Batch:
        """What is kept of checked rows, of which the user gave ``n_given``, until there are enough to begin with."""
        return data[:3]

    @keeps_model_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on with further examples, each once and in the order of the rows.

        What parameters leave open, and what is subtracted from the columns, is chosen from the first rows: from 400
        with 40 of other classes than the most frequent, or from 4,000. Until then the rows are kept, and the model is
        begun anew with all of them whenever they are a quarter more.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        classes : array-like, shape (n_classes,), optional
            All labels that may come; needed in the first call, but by `LASVMClassifier`, which takes those of its
            rows.
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses, as they are: a mean of 1 leaves the regularisation what it is. Rows of weight zero
            are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, a label that is none of the classes, other classes than before.
        ShallowsError
            A parameter out of its range, or ``class_weight="balanced"``, for which all labels are needed.
        """
        self._check_parameters()
        refuse_balanced(self.class_weight)
        first = not self.__sklearn_is_fitted__()
        data = self._validated_training_set(X, y, sample_weight, first=first, whole=False)
        data = data._replace(y=model_classes.learn_of_stream(self, data.y, classes, first=first))
        batch = self._batch(data, _num_samples(X))
        n_before = getattr(self, "_n_begun", 0)
        rows = first_rows.to_begin_with(self, batch)
        if rows is not None and n_before < LEAST_ROWS:
            self._warn_of_units(rows[0])
        self._learn(rows or batch, begins=rows is not None)
        return self
