"""Operations on features that may be sparse: matrices of SciPy for maps whose rows are mostly zeros, else arrays."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from .. import arrays
from ..arrays import Array


def is_sparse(block: Any) -> bool:
    """Whether features are a sparse matrix."""
    return scipy.sparse.issparse(block)


def inner_products(block: Any, other: Any) -> Array:
    """``block @ other.T`` as an array, shape (m, n)."""
    products = block @ other.T
    return products.toarray() if is_sparse(products) else products


def scaled(block: Any, factors: Array) -> Any:
    """Each row times its factor; ``factors`` of shape (m, 1)."""
    return block.multiply(factors).tocsr() if is_sparse(block) else block * factors


def sum_of_squares(block: Any) -> float:
    """Of all values."""
    return float((block.data**2).sum()) if is_sparse(block) else float(arrays.namespace(block).sum(block**2))
