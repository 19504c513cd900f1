"""A compiled product of a few sparse rows with many rows."""

from ..utils.compilation import njit


@njit(cache=True, nogil=True)
def add_products(ends, columns, values, column_ends, rows, numbers, out):
    """Add A Bᵀ to ``out``, for A as CSR and Bᵀ as CSR: pointers, indices and values of each."""
    for i in range(len(ends) - 1):
        own = out[i]
        for place in range(ends[i], ends[i + 1]):
            column, value = columns[place], values[place]
            for k in range(column_ends[column], column_ends[column + 1]):
                own[rows[k]] += value * numbers[k]
