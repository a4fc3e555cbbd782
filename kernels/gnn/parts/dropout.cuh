// Dropout: which elements it keeps depends on their numbers alone.
struct random_block {
    unsigned w[4];
};

// The random words of elements 8 * group .. 8 * group + 7: one block of Philox4x32-10.
__device__ __forceinline__ random_block random_words(unsigned long long group, unsigned place,
                                                     unsigned step, unsigned k0, unsigned k1)
{
    unsigned a = (unsigned)group, b = (unsigned)(group >> 32), c = place, d = step;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned p = __umulhi(a, 0xD2511F53u), p_low = a * 0xD2511F53u;
        unsigned q = __umulhi(c, 0xCD9E8D57u), q_low = c * 0xCD9E8D57u;
        a = q ^ b ^ k0;
        b = q_low;
        c = p ^ d ^ k1;
        d = p_low;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{a, b, c, d}};
}

// Which elements of a row dropout keeps. Remembers the last block, because neighbours share it.
struct dropout {
    unsigned limit, place, step, k0, k1;
    unsigned long long group = ~0ull;
    random_block words = {};

    __device__ dropout(unsigned limit, unsigned place, unsigned step, unsigned k0, unsigned k1)
        : limit(limit), place(place), step(step), k0(k0), k1(k1)
    {
    }
    __device__ __forceinline__ bool keeps(unsigned long long i)
    {
        if (i / 8 != group) {
            group = i / 8;
            words = random_words(group, place, step, k0, k1);
        }
        unsigned lane = (unsigned)i % 8;
        unsigned w = lane < 4 ? (lane < 2 ? words.w[0] : words.w[1]) : (lane < 6 ? words.w[2] : words.w[3]);
        return (w >> (16 * (lane & 1)) & 0xffffu) >= limit;
    }
    __device__ __forceinline__ float scale() const { return 65536.f / (65536.f - (float)limit); }
};
