struct words {
    unsigned w[4];
};

__device__ words philox(unsigned a, unsigned b, unsigned c, unsigned d, unsigned k0, unsigned k1)
{
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
