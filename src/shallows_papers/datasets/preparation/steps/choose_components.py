"""The step ``choose_components``: PCA with the number of components chosen on the training rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import SEED
from shallows_papers.datasets.preparation.step import FeatureStep
from shallows_papers.datasets.preparation.steps.pca import PCA
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table


@dataclass
class ChooseComponents(FeatureStep):
    """Project on 200, 100 or 50 principal components, or leave the features as they are.

    The number is chosen as by ``n_components="auto"`` of the estimators for a Gaussian kernel, by leave-one-out errors
    of kernel ridge regression. The components are computed on all training rows.
    """

    name: ClassVar[str] = "choose_components"
    learns: ClassVar[bool] = True
    seed: int = field(default=0, metadata=SEED)  # Seed of the draw of rows for the choice

    def fit(self, table: Table) -> dict[str, Any]:
        if table.sparse:
            raise DatasetError(
                f"The step choose_components needs dense features, but '{table.dataset.name}' is sparse. "
                "Set the number of components: 'pca: {n_components: 100}'."
            )
        k = self._number(table)
        self.pca_ = None if k is None else PCA(k)
        return {"n_components": k, **({} if self.pca_ is None else self.pca_.fit(table))}

    def transform(self, block: np.ndarray) -> np.ndarray:
        return block if self.pca_ is None else self.pca_.transform(block)

    def describe_output(self, table: Table) -> None:
        if self.pca_ is not None:
            self.pca_.describe_output(table)

    def _number(self, table: Table) -> int | None:
        from shallows.kernels import Gaussian
        from shallows.losses.margins import Hinge
        from shallows.spectrum import principal_components
        from shallows_papers.datasets.preparation.row_draws import draw_rows

        n = table.n_rows("train")
        rows = draw_rows(n, min(n, principal_components.ROWS), self.seed, self.name)
        x = table.gather(rows)
        y = np.concatenate(list(table.target_blocks("train")))[rows]
        if table.target_coding == "class indices":
            targets = Hinge().encode(y, len(table.classes))
        else:
            targets = y.reshape(len(y), -1).astype(np.float64)
        budget = 2 * x.nbytes + 2**30  # At most a quarter of it is for the components; there are few rows.
        found = principal_components.components_for("auto", Gaussian(), x, targets, None, self.seed, budget)
        return None if found is None else found.directions.shape[1]
