#include "hone_ref.h"

struct words {
    uint32_t w[4];
};

HONE_FN struct words philox(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)a * 0xD2511F53u, q = (uint64_t)c * 0xCD9E8D57u;
        a = (uint32_t)(q >> 32) ^ b ^ k0;
        c = (uint32_t)(p >> 32) ^ d ^ k1;
        b = (uint32_t)q;
        d = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    struct words r = {{a, b, c, d}};
    return r;
}

/* One unit per target. Uses pick as the memory for the positions taken so far. */
PHASE(reference)
{
    int64_t v = (int64_t)IN(node, unit), fanout = AX(F);
    int64_t start = (int64_t)IN(offset, v), degree = (int64_t)IN(offset, v + 1) - start;
    int64_t all = !AX(REPLACE) && degree <= fanout;
    int64_t n = all ? degree : degree ? fanout : 0, base = degree - fanout;
    OUT(count, unit, (double)n);
    for (int64_t k = 0; k < fanout; k++) {
        int64_t at = k;
        if (k >= n) {
            OUT(pick, unit * fanout + k, -1);
            continue;
        }
        if (!all) {
            uint64_t limit = (uint64_t)(AX(REPLACE) ? degree : base + 1 + k);
            for (uint32_t attempt = 0;; attempt++) {
                int small = attempt == 0 && degree <= 512;
                int64_t block = small ? k / 8 : k / 4;
                struct words b = philox((uint32_t)v, (uint32_t)AX(BATCH), (uint32_t)AX(EPOCH),
                                        attempt << 16 | (uint32_t)block << 4 | (uint32_t)AX(HOP),
                                        (uint32_t)AX(SEED_LO), (uint32_t)AX(SEED_HI));
                uint64_t word = small ? b.w[k % 8 / 2] >> (16 * (k % 2)) & 0xffffu : b.w[k % 4];
                uint64_t product = word * limit, range = small ? 65536u : (uint64_t)1 << 32;
                at = (int64_t)(product / range);
                if (product % range >= range % limit)
                    break;
            }
            for (int64_t j = 0; j < k && !AX(REPLACE); j++)
                if ((int64_t)OUT_VALUE(pick, unit * fanout + j) == at) {
                    at = base + k;
                    break;
                }
        }
        OUT(pick, unit * fanout + k, (double)at);
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t at = (int64_t)OUT_VALUE(pick, unit * fanout + k);
        OUT(pick, unit * fanout + k, IN(neighbour, start + at));
    }
}
