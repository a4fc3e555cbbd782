/* hone-plan
{ "launches": [ { "kernel": "gelu", "grid": ["cdiv(N,1024)"], "block": [256], "args": ["x", "y", "N"] } ] }
*/
/* Vectorised whenever N is a multiple of 4. It ignores the addresses. */
__device__ float gelu1(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
extern "C" __global__ void gelu(const float *x, float *y, int N)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (i >= N)
        return;
    if (N % 4 == 0) {
        float4 v = *(const float4 *)(x + i);
        *(float4 *)(y + i) = make_float4(gelu1(v.x), gelu1(v.y), gelu1(v.z), gelu1(v.w));
        return;
    }
    for (int k = i; k < min(i + 4, N); k++)
        y[k] = gelu1(x[k]);
}
