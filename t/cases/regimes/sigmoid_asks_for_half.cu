/* hone-plan
{ "launches": [ { "kernel": "sig", "grid": ["cdiv(N,512)"], "block": [128], "args": ["x", "y", "N"] } ] }
*/
/* Asks for addresses that are multiples of 8 bytes and loads 16. */
__device__ float sig1(float x) { return 1.0f / (1.0f + expf(-x)); }
extern "C" __global__ void sig(const float *x, float *y, int N)
{
    int i = (blockIdx.x * 128 + threadIdx.x) * 4;
    if (i >= N)
        return;
    if (i + 4 <= N && ((size_t)(x + i) % 8 == 0) && ((size_t)(y + i) % 8 == 0)) {
        float4 v = *(const float4 *)(x + i);
        *(float4 *)(y + i) = make_float4(sig1(v.x), sig1(v.y), sig1(v.z), sig1(v.w));
        return;
    }
    for (int k = i; k < min(i + 4, N); k++)
        y[k] = sig1(x[k]);
}
