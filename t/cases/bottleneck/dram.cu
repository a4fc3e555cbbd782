/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N, 1024)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Built to be bound by DRAM: nothing but whole lines in and out, four of them in flight per thread.
extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * 1024 + threadIdx.x;
    float x[4], y[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (i + 256 * k < n) {
            x[k] = a[i + 256 * k];
            y[k] = b[i + 256 * k];
        }
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (i + 256 * k < n)
            c[i + 256 * k] = x[k] + y[k];
}
