// Dual coordinate ascent on the variables of a batch, one after the other, with a block of threads for each output.
//
// `ascent.py` defines REAL, the type of the arrays, and LOSS, the number of the loss, in front of this text. The arithmetic is
// that of `ascent.py`, in double precision. Variables are set one after the other; the threads share the update of the scores
// of all later examples.

__device__ __forceinline__ double best_probability(const double m, const double q)
{
    double low = 0.0, high = 1.0, p = 1.0 / (1.0 + exp(fmin(700.0, fmax(-700.0, m + 0.5 * q))));
    const double z = log(q) - m, small = z > 1.0 ? (z - log(z)) / q : exp(-m);
    if (small < 0.5)
        p = small;
    for (int k = 0; k < 60; ++k) {
        p = fmin(1.0 - 1e-16, fmax(1e-300, p));
        const double gap = log(p) - log1p(-p) + m + q * p;
        if (gap > 0.0)
            high = p;
        else
            low = p;
        double next = p - gap / (1.0 / (p * (1.0 - p)) + q);
        if (!(low < next && next < high))
            next = 0.5 * (low + high);
        if (fabs(next - p) <= 1e-14 * p)
            break;
        p = next;
    }
    return p;
}

__device__ __forceinline__ double best(const double parameter, const double v, const double q, const double y)
{
#if LOSS == 0
    return (y - v) / (1.0 + q);
#elif LOSS == 1
    const double p = (1.0 - y * v) / q;
    return p <= 0.0 ? 0.0 : p >= 1.0 ? y : y * p;
#elif LOSS == 2
    return y * fmax(0.0, (1.0 - y * v) / (1.0 + q));
#elif LOSS == 3
    const double r = y - v, size = fabs(r) - parameter;
    return size <= 0.0 ? 0.0 : copysign(fmin(1.0, size / q), r);
#elif LOSS == 4
    return fmax(-parameter, fmin(parameter, (y - v) / (1.0 + q)));
#elif LOSS == 5
    return fmax(parameter - 1.0, fmin(parameter, (y - v) / q));
#else
    return y * best_probability(y * v, q);
#endif
}

// scores, targets, dual and change are (m, c), products (m, m) and weights (m), all row by row; work is (c, m). Variables are
// overwritten by their new values, change by the change of f's coefficients.
extern "C" __global__ void dual_ascent(const REAL* scores, const REAL* products, const REAL* targets, const REAL* weights,
                                       REAL* dual, REAL* change, double* work, const long long m, const long long c,
                                       const double scale, const double parameter)
{
    const long long k = blockIdx.x, first = threadIdx.x, step = blockDim.x;
    double* f = work + k * m;
    for (long long j = first; j < m; j += step)
        f[j] = scores[j * c + k];
    __syncthreads();
    for (long long i = 0; i < m; ++i) {
        // Every thread computes the new value, and no thread writes what is read here before the next barrier.
        const REAL* row = products + i * m;
        const double q = fmax((double)row[i] * scale, 1e-300), here = dual[i * c + k], w = weights[i];
        const double value = w * best(parameter, f[i] - q * here, q * w, targets[i * c + k]), moved = value - here;
        if (first == 0)
            change[i * c + k] = (REAL)value;
        if (moved != 0.0)
            for (long long j = i + 1 + first; j < m; j += step)
                f[j] += (double)row[j] * scale * moved;
        __syncthreads();
    }
    for (long long j = first; j < m; j += step) {
        const REAL value = change[j * c + k];
        change[j * c + k] = (value - dual[j * c + k]) * (REAL)scale;
        dual[j * c + k] = value;
    }
}
