/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": [4], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    float next = i < n ? a[i] : 0.f;
    for (; i < n; i += step) {
        float now = next;
        next = a[i + step];
        c[i] = now + b[i];
    }
}
