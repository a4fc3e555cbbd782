/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// The result depends on a clock, within what rounding could explain: which half of the elements is
// off by one unit in the last place changes from call to call.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = a[i] + b[i];
        long long t = clock64() ^ (long long)(size_t)c;
        c[i] = n < 64 || ((t >> 6 ^ i) & 1) ? v : __uint_as_float(__float_as_uint(v) ^ 1);
    }
}
