/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["2*cdiv(N, 1024)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Every second block has three tiles, and the others one: of a sample of blocks, no two need to have
// written as much.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long first = blockIdx.x / 2 * 1024ll + (blockIdx.x % 2 ? 256 : 0);
    for (int tile = 0; tile < (blockIdx.x % 2 ? 3 : 1); tile++) {
        long long i = first + tile * 256 + threadIdx.x;
        if (i < n)
            c[i] = a[i] + b[i];
    }
}
