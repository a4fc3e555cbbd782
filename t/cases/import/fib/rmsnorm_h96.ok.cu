/* hone-plan
{ "launches": [ { "kernel": "rmsnorm", "grid": ["batch_size"], "block": [32],
                  "args": ["hidden_states", "weight", "output", "eps"] } ] }
*/
// One warp per row of 96 elements, three for each thread.
#include <cuda_bf16.h>
extern "C" __global__ void rmsnorm(const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *y, float eps)
{
    const __nv_bfloat16 *row = x + blockIdx.x * 96;
    float v[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        v[k] = __bfloat162float(row[threadIdx.x + 32 * k]);
        sum += v[k] * v[k];
    }
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, d);
    float scale = rsqrtf(sum / 96 + eps);
    for (int k = 0; k < 3; k++) {
        int c = threadIdx.x + 32 * k;
        y[blockIdx.x * 96 + c] = __float2bfloat16(v[k] * scale * __bfloat162float(w[c]));
    }
}
