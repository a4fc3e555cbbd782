/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N", "w"] } ], "workspace": { "w": { "bytes": "4*N", "init": "none" } } }
*/
// Keeps state in a workspace, although no workspace keeps its contents between calls.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n, float *w)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float old = w[i];
        c[i] = old == a[i] + b[i] ? old : a[i] + b[i];
        w[i] = c[i];
    }
}
