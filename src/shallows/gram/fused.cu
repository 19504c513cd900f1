// K(x, z) @ w for points of few features, without K in memory.
//
// In front of this text `fused.py` puts the constants REAL, FEATURES, COLUMNS, ROWS, THREADS and TILE, and the function
// `REAL radial(REAL scaled)`: the kernel's value from factor * ||x - z||^2.
//
// A thread keeps ROWS points of x in registers and sums for them over one split of z. Tiles of z and w lie in shared
// memory, where all threads of a warp read the same word at a time (a broadcast), so a value costs arithmetic alone.
// Block (i, j, k) of the grid does rows i, split j, columns k.
//
// Differences are squared, rather than ||x||^2 - 2 x.z + ||z||^2 taken: a point meets itself at exactly zero, and close
// points lose no digits. Sums run over one tile plainly and over tiles with Kahan's compensation, so that the rounding
// of a sum of n numbers grows with TILE, not with n.

#define WIDTH ((FEATURES + 3) / 4 * 4)  // rows of the tile start at multiples of 16 bytes, to be read in words of 16

extern "C" __global__ void __launch_bounds__(THREADS)
kernel_product(const REAL* x, const REAL* extra, const REAL* z, const REAL* w, REAL* out,
               const long long m, const long long n, const long long x_stride, const long long z_stride,
               const long long w_stride, const int n_columns, const long long per_split, const REAL factor)
{
    __shared__ __align__(16) REAL points[TILE * WIDTH];
    __shared__ __align__(16) REAL weights[TILE * COLUMNS];

    const long long first_row = (long long)blockIdx.x * (THREADS * ROWS) + threadIdx.x;
    const int first_column = blockIdx.z * COLUMNS;
    const long long start = blockIdx.y * per_split;
    const long long stop = start + per_split < n ? start + per_split : n;

    REAL mine[ROWS][FEATURES], beyond[ROWS];
    REAL total[ROWS][COLUMNS], lost[ROWS][COLUMNS];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        // Threads past the last row go along with it, since all must meet at the barriers; they write nothing.
        const long long asked = first_row + r * THREADS, row = asked < m ? asked : m - 1;
        #pragma unroll
        for (int j = 0; j < FEATURES; ++j)
            mine[r][j] = x[row * x_stride + j];
        beyond[r] = extra[row];
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            total[r][c] = lost[r][c] = 0;
    }

    for (long long tile = start; tile < stop; tile += TILE) {
        const int here = stop - tile < TILE ? (int)(stop - tile) : TILE;
        __syncthreads();  // nobody reads the last tile any more
        for (int k = threadIdx.x; k < here * FEATURES; k += THREADS)
            points[k / FEATURES * WIDTH + k % FEATURES] = z[(tile + k / FEATURES) * z_stride + k % FEATURES];
        for (int k = threadIdx.x; k < here * COLUMNS; k += THREADS) {
            const int column = first_column + k % COLUMNS;
            weights[k] = column < n_columns ? w[(tile + k / COLUMNS) * w_stride + column] : REAL(0);
        }
        __syncthreads();

        REAL part[ROWS][COLUMNS];
        #pragma unroll
        for (int r = 0; r < ROWS; ++r)
            #pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                part[r][c] = 0;
        #pragma unroll 2
        for (int k = 0; k < here; ++k) {
            REAL distance[ROWS];
            #pragma unroll
            for (int r = 0; r < ROWS; ++r)
                distance[r] = beyond[r];
            #pragma unroll
            for (int j = 0; j < FEATURES; ++j) {
                const REAL other = points[k * WIDTH + j];
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const REAL difference = mine[r][j] - other;
                    distance[r] += difference * difference;
                }
            }
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const REAL value = radial(factor * distance[r]);
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c)
                    part[r][c] += value * weights[k * COLUMNS + c];
            }
        }
        #pragma unroll
        for (int r = 0; r < ROWS; ++r)
            #pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                const REAL corrected = part[r][c] - lost[r][c], sum = total[r][c] + corrected;
                lost[r][c] = (sum - total[r][c]) - corrected;
                total[r][c] = sum;
            }
    }

    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const long long row = first_row + r * THREADS;
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            if (row < m && first_column + c < n_columns)
                out[(blockIdx.y * m + row) * n_columns + first_column + c] = total[r][c];
    }
}
