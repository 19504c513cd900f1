"""The step ``views``: the features are two views of each example, as component analysis across views takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.parameter_rules import COUNT
from shallows.datasets.preparation.step import Step

if TYPE_CHECKING:
    from shallows.datasets.preparation.working_table import Table


@dataclass
class Views(Step):
    """Take the first features for one view and the others for another; the arrays are then written apart.

    Attributes
    ----------
    n_first : int
        Features of the first view.
    """

    name: ClassVar[str] = "views"
    n_first: int = field(metadata=COUNT)

    def apply(self, table: Table) -> dict[str, Any]:
        if self.n_first >= table.n_features:
            raise DatasetError(
                f"The step views gives {self.n_first:,} features to the first view, and '{table.dataset.name}' has "
                f"{table.n_features:,} for both."
            )
        table.image, table.views = None, [(0, self.n_first), (self.n_first, table.n_features)]
        return {"views": [list(view) for view in table.views]}
