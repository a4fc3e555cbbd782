/* hone-plan
{ "launches": [
    { "kernel": "offsets", "grid": ["cdiv(R*G + 1, 256)"], "block": [256], "args": ["prefix", "offset", "R", "G"] },
    { "kernel": "neighbours", "grid": ["cdiv(R*P, 256)"], "block": [256],
      "args": ["prefix", "neighbour", "R", "G", "P", "LOCAL", "SEED"] } ] }
*/
// One thread for each offset, then one for each neighbour. The functions are those of
// src/gnn/data/papers_core.h.
__device__ __forceinline__ unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

// A permutation of 0..n-1, or its inverse: Feistel's network, again for values outside.
template <bool kInverse>
__device__ unsigned permute(unsigned key, unsigned n, unsigned i)
{
    unsigned bits = max(2, 32 - __clz(n - 1)), low_bits = bits / 2;
    unsigned low_mask = (1u << low_bits) - 1, high_mask = (1u << (bits - low_bits)) - 1;
    do {
        unsigned low = i & low_mask, high = i >> low_bits;
#pragma unroll
        for (int step = 0; step < 6; step++) {
            int r = kInverse ? 5 - step : step;
            unsigned word = mix(key + ((unsigned)r << 20) + (r % 2 ? high : low));
            if (r % 2)
                low ^= word & low_mask;
            else
                high ^= word & high_mask;
        }
        i = high << low_bits | low;
    } while (i >= n);
    return i;
}

// The last member i with prefix[i] <= end.
__device__ __forceinline__ unsigned member_of(const int *prefix, unsigned members, unsigned end)
{
    unsigned low = 0, high = members;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if ((unsigned)prefix[middle] <= end)
            low = middle;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void offsets(const int *prefix, long long *offset, unsigned communities, unsigned members)
{
    long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (v > (long long)communities * members)
        return;
    unsigned i = (unsigned)v / communities, g = (unsigned)v % communities;
    long long first = (long long)communities * prefix[i];
    offset[v] = i == members ? first : first + (long long)g * (prefix[i + 1] - prefix[i]);
}

extern "C" __global__ void neighbours(const int *prefix, int *neighbour, unsigned communities, unsigned members,
                                      unsigned ends, unsigned local, unsigned seed)
{
    long long place_of_all = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (place_of_all >= (long long)communities * ends)
        return;
    unsigned e = (unsigned)place_of_all, i = member_of(prefix, members, e / communities);
    unsigned first = prefix[i], degree = prefix[i + 1] - first, rest = e - communities * first;
    unsigned g = rest / degree, keys = mix(seed ^ 0x70617065u);
    unsigned place = permute<false>(mix(keys + g), ends, first + rest % degree);
    if (place < local) {
        place ^= 1;
    } else {
        unsigned others = ends - local, all = communities * others, key = mix(keys + 0xffffffffu);
        unsigned at = g * others + (place - local), partner = permute<false>(key, all, at) ^ 1;
        if (partner < all)
            at = permute<true>(key, all, partner);
        g = at / others;
        place = local + at % others;
    }
    neighbour[e] = member_of(prefix, members, permute<true>(mix(keys + g), ends, place)) * communities + g;
}
