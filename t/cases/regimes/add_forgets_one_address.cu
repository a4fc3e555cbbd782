/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N,1024)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
/* Looks at the addresses of a and c, not at that of b. */
extern "C" __global__ void add(const float *a, const float *b, float *c, int N)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (i + 4 <= N && ((size_t)a % 16 == 0) && ((size_t)c % 16 == 0)) {
        float4 u = *(const float4 *)(a + i), v = *(const float4 *)(b + i);
        *(float4 *)(c + i) = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
        return;
    }
    for (int k = i; k < min(i + 4, N); k++)
        c[k] = a[k] + b[k];
}
