/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N,1024)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Sixteen bytes at a time between a head and a tail, if all three tensors are off by the same; every
// thread of a block sets the same flag.
extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    __shared__ int alike;
    unsigned off = (unsigned long long)a & 15;
    long long first = (long long)blockIdx.x * 256 + threadIdx.x, step = gridDim.x * 256ll;
    if (((unsigned long long)b & 15) == off && ((unsigned long long)c & 15) == off)
        alike = 1;
    else
        alike = 0;
    __syncthreads();
    long long head = alike ? min(n, (long long)(16 - off) % 16 / 4) : n, wide = (n - head) / 4;
    for (long long i = first; i < head; i += step)
        c[i] = a[i] + b[i];
    for (long long i = first; i < wide; i += step) {
        float4 x = ((const float4 *)(a + head))[i], y = ((const float4 *)(b + head))[i];
        ((float4 *)(c + head))[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    for (long long i = head + 4 * wide + first; i < n; i += step)
        c[i] = a[i] + b[i];
}
