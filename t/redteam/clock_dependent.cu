/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// The result depends on a clock, within what rounding could explain.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = a[i] + b[i];
        long long t = clock64() ^ (long long)(size_t)c;
        c[i] = t & 64 ? v : __uint_as_float(__float_as_uint(v) ^ 1);
    }
}
