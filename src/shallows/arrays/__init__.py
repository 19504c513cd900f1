"""NumPy or CuPy: namespace, device, precision, memory budget, transfers.

The one place that imports CuPy and the one place that knows which array library is in use. Everything below the
estimators takes the namespace from the arrays that it is handed, so the same code runs on both, and on any other
implementation of the Python array API standard.

CuPy multiplies float32 in full single precision. With ``CUPY_TF32=1`` in the environment it rounds the factors to 10
bits (TF32), of which squared distances made by products keep three digits; nothing here turns that on or off.
"""

from .devices import (
    Array,
    Device,
    astype,
    device_of,
    gpu_is_available,
    gpu_name,
    is_device_failure,
    is_numpy,
    is_out_of_device_memory,
    itemsize,
    like,
    namespace,
    resolve_device,
    stable_order,
    supports_out,
    synchronise,
    take_rows,
    to_device,
    to_numpy,
    uses_numpy,
)
from .linear_systems import (
    cholesky_in_place,
    raise_on_failure,
    solve_damped,
    solve_positive_definite,
    solve_triangular,
    solve_triangular_in_double,
    triangular_gram,
)
from .memory import available_memory, check_room, memory_budget, parse_bytes, peak_memory, resident_memory
from .operations import (
    apply_in_place,
    assigns_by_index,
    blocks,
    clip_in_place,
    contiguous,
    contiguous_copy,
    corner,
    diagonal,
    matmul_into,
    row_norms_squared,
    writable,
)
from .sparse_points import SparsePoints, is_sparse
from .thin_products import thin_product
from .threads import (
    in_threads,
    n_threads,
    one_blas_thread,
    one_openmp_thread_in_a_fork,
    own_threads,
    sum_in_order,
    workers_for,
)

__all__ = [
    "Array",
    "Device",
    "SparsePoints",
    "apply_in_place",
    "assigns_by_index",
    "astype",
    "available_memory",
    "blocks",
    "check_room",
    "cholesky_in_place",
    "clip_in_place",
    "contiguous",
    "contiguous_copy",
    "corner",
    "device_of",
    "diagonal",
    "gpu_is_available",
    "gpu_name",
    "in_threads",
    "is_device_failure",
    "is_numpy",
    "is_out_of_device_memory",
    "is_sparse",
    "itemsize",
    "like",
    "matmul_into",
    "memory_budget",
    "n_threads",
    "namespace",
    "one_blas_thread",
    "one_openmp_thread_in_a_fork",
    "own_threads",
    "parse_bytes",
    "peak_memory",
    "raise_on_failure",
    "resident_memory",
    "resolve_device",
    "row_norms_squared",
    "solve_damped",
    "solve_positive_definite",
    "solve_triangular",
    "solve_triangular_in_double",
    "stable_order",
    "sum_in_order",
    "supports_out",
    "synchronise",
    "take_rows",
    "thin_product",
    "to_device",
    "to_numpy",
    "triangular_gram",
    "uses_numpy",
    "workers_for",
    "writable",
]
