"""NumPy or CuPy: namespace, device, precision, memory budget, transfers.

Only this package imports CuPy and knows which array library is in use. Functions below the estimators get the
namespace from their arrays, so the same code runs on NumPy, CuPy and other libraries of the Python array API standard.
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
    supports_out,
    synchronize,
    take_rows,
    to_device,
    to_numpy,
    uses_numpy,
)
from .linear_systems import (
    cholesky_in_place,
    raise_on_failure,
    solve_damped,
    solve_factored,
    solve_positive_definite,
    solve_triangular,
    solve_triangular_in_double,
    triangular_gram,
)
from .memory import available_memory, check_room, is_size, memory_budget, parse_bytes, peak_memory, resident_memory
from .operations import (
    apply_in_place,
    blocks,
    clip_in_place,
    contiguous,
    contiguous_copy,
    corner,
    diagonal,
    matmul_into,
    row_norms_squared,
    thin_product,
    writable,
)
from .sparse_points import SparsePoints, is_sparse
from .threads import (
    in_threads,
    n_threads,
    one_blas_thread,
    one_openmp_thread_in_a_fork,
    own_threads,
    sum_in_order,
    threads_for,
    workers_for,
)
