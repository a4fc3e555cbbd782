/* hone-plan
{ "launches": [ { "kernel": "plain", "grid": ["cdiv(N, 256)"], "block": [256], "when": "N < 4194304",
                  "args": ["a", "b", "c", "N"] },
                { "kernel": "staged", "grid": ["cdiv(N, 2048)"], "block": [256], "when": "N >= 4194304",
                  "args": ["a", "b", "c", "stage", "N"] } ],
  "workspace": { "stage": { "bytes": "4*align(N, 2048)", "init": "none" } } }
*/
// A kernel of its own for large sizes: a block takes tiles from both ends of the tensor, puts its
// sums into a part of the workspace that nobody else uses and copies them from there; of the order
// of its warps, counted in shared memory, nothing depends. Provisional values are in c for a while.
extern "C" __global__ void plain(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void staged(const float *a, const float *b, float *c, float *stage, long long n)
{
    __shared__ int turn;
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        atomicAdd(&turn, 1);
    for (int k = 0; k < 8; k++) {
        long long tile = k % 2 ? 8ll * gridDim.x - 1 - (4ll * blockIdx.x + k / 2) : 4ll * blockIdx.x + k / 2;
        long long i = tile * 256 + threadIdx.x;
        if (i < n) {
            c[i] = -1;
            stage[i] = a[i] + b[i];
        }
    }
    __syncthreads();
    for (int k = 0; k < 8; k++) {
        long long tile = k % 2 ? 8ll * gridDim.x - 1 - (4ll * blockIdx.x + k / 2) : 4ll * blockIdx.x + k / 2;
        int other = threadIdx.x ^ 37;
        long long i = tile * 256 + other;
        if (i < n && turn == 8)
            c[i] = stage[i];
    }
}
