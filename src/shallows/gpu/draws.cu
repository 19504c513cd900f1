// Random numbers of `streams.py`, a block of four 64-bit words of Philox-4x64-10 for each thread.
//
// In front of this text `streams_on_gpu.py` puts REAL and BITS, the type of the normal numbers and how many bits of a word each of
// their uniform numbers takes. Words are the same to the bit as NumPy's; normal numbers agree to rounding.

typedef unsigned long long Word;

__device__ __forceinline__ void philox(Word* x, Word low_key, Word high_key)
{
    #pragma unroll
    for (int round = 0; round < 10; ++round) {
        const Word high0 = __umul64hi(x[0], 0xD2E7470EE14C6C93ULL), low0 = x[0] * 0xD2E7470EE14C6C93ULL;
        const Word high1 = __umul64hi(x[2], 0xCA5A826395121157ULL), low1 = x[2] * 0xCA5A826395121157ULL;
        x[0] = high1 ^ x[1] ^ low_key;
        x[1] = low1;
        x[2] = high0 ^ x[3] ^ high_key;
        x[3] = low0;
        low_key += 0x9E3779B97F4A7C15ULL;
        high_key += 0xBB67AE8584CAA73BULL;
    }
}

extern "C" __global__ void words(Word* out, const long long n, const Word low_counter, const Word high_counter,
                                 const Word low_key, const Word high_key)
{
    const long long block = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    Word x[4] = {(Word)block, low_counter, high_counter, 0};
    philox(x, low_key, high_key);
    for (int k = 0; k < 4; ++k)
        if (4 * block + k < n)
            out[4 * block + k] = x[k];
}

extern "C" __global__ void normal_numbers(REAL* out, const long long n, const Word low_counter, const Word high_counter,
                                          const Word low_key, const Word high_key)
{
    const long long block = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    Word x[4] = {(Word)block, low_counter, high_counter, 0};
    philox(x, low_key, high_key);
    const REAL unit = REAL(1) / REAL(1ULL << BITS);
    for (int k = 0; k < 4; ++k) {
        const long long first = 2 * (4 * block + k);
        if (first >= n)
            continue;
        const REAL upper = REAL(x[k] >> (64 - BITS)), lower = REAL((x[k] >> (32 - BITS)) & ((1ULL << BITS) - 1));
        const REAL radius = sqrt(REAL(-2) * log(REAL(1) - upper * unit));
        const REAL angle = lower * REAL(6.283185307179586476925286766559 / double(1ULL << BITS));
        out[first] = radius * cos(angle);
        if (first + 1 < n)
            out[first + 1] = radius * sin(angle);
    }
}
