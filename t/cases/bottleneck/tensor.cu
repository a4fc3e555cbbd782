/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N, 1024)"], "block": [128],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Built to be bound by the tensor cores: beside its sum, every warpgroup multiplies a tile of zeros
// (64x256x16, wgmma from shared memory) over and over.
#define D8(n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), \
              "+f"(d[n + 5]), "+f"(d[n + 6]), "+f"(d[n + 7])

__device__ static unsigned long long tile(const void *p)
{
    unsigned long long at = (unsigned long long)__cvta_generic_to_shared(p);
    return (at >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62; // rows of 128 bytes, swizzled
}

extern "C" __global__ void __launch_bounds__(128) add(const float *a, const float *b, float *c,
                                                      long long n)
{
    __shared__ __align__(1024) unsigned zeros[40960 / 4];
    for (int i = threadIdx.x; i < 40960 / 4; i += 128)
        zeros[i] = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned long long x = tile(zeros), y = tile(zeros + 8192 / 4);
    float d[128];
#pragma unroll
    for (int k = 0; k < 128; k++)
        d[k] = 0;
    for (int round = 0; round < 8; round++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
                "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
                "%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,"
                "%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,"
                "%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,"
                "%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,"
                "%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,"
                "%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 0;"
                : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56), D8(64), D8(72),
                  D8(80), D8(88), D8(96), D8(104), D8(112), D8(120)
                : "l"(x + (unsigned long long)(k * 2)), "l"(y + (unsigned long long)(k * 2)));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 128; k++)
        sum += d[k];
    long long i = (long long)blockIdx.x * 1024 + threadIdx.x;
#pragma unroll 4
    for (int k = 0; k < 8; k++)
        if (i + 128 * k < n)
            c[i + 128 * k] = sum != 0 ? sum : a[i + 128 * k] + b[i + 128 * k];
}
