/* hone-plan
{"launches":[{"kernel":"clear","grid":[1],"block":[32],"args":["sum"]},
 {"kernel":"count","grid":["N/128"],"block":[128],"args":["x","y","sum"]}],"workspace":{"sum":{"bytes":"64"}}}
*/
/* A loop of compare-and-swaps whose first value comes from a load that bypasses the L1. */
extern "C" __global__ void clear(unsigned *sum)
{
    if (threadIdx.x < 16)
        sum[threadIdx.x] = 0;
}
extern "C" __global__ void count(const float *x, float *y, unsigned *sum)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x == 0) {
        unsigned *p = sum + blockIdx.x % 3;
        unsigned seen = __ldcg(p), old;
        while ((old = atomicCAS(p, seen, seen + 2)) != seen)
            seen = old;
    }
    y[i] = x[i] + 1;
}
