/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 1024)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    long long i = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        float4 u = *(const float4 *)(a + i);
        float4 v = *(const float4 *)(b + i);
        *(float4 *)(c + i) = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
        return;
    }
    for (int k = 0; k < 4 && i + k < n; k++)
        c[i + k] = a[i + k] + b[i + k];
}
