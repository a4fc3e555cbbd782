/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Structures with padding go from one array in shared memory to another, padding and all.
struct Item {
    float sum;
    unsigned char tag;
};
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    __shared__ Item from[256], to[256];
    int t = threadIdx.x;
    long long i = blockIdx.x * 256ll + t;
    if (i < n) {
        from[t].sum = a[i] + b[i];
        from[t].tag = t & 3;
    }
    __syncthreads();
    int other = i < n ? ((i ^ 1) < n ? t ^ 1 : t) : 0;
    if (i < n)
        to[other] = from[other];
    __syncthreads();
    if (i < n)
        c[i] = to[t].tag == (t & 3) ? to[t].sum : 0;
}
