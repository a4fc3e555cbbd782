/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 1024)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    long long i = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        for (int k = 0; k < 4; k++)
            c[i + k] = a[i + k] + b[i + k];
    } else {
        for (; i < n; i++)
            c[i] = a[i] + b[i];
    }
}
