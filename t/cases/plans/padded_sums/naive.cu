/* hone-plan
{ "launches": [
    { "kernel": "rows", "grid": ["cdiv(R, 64)"], "block": [64], "args": ["x", "pick", "y", "R", "C"] },
    { "kernel": "columns", "grid": ["cdiv(C, 64)"], "block": [64], "args": ["t", "edges", "d", "C"] } ] }
*/
// Relies on the padding: it stops at the first 1000 and does not read the lengths.
extern "C" __global__ void rows(const float *x, const float *pick, float *y, int r, int c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= r)
        return;
    float s = 0;
    for (int j = 0; j < c && x[(size_t)i * c + j] != 1000; j++)
        s += x[(size_t)i * c + j] + pick[(size_t)i * c + j];
    y[i] = s;
}

// The largest edge is the last one, because the edges are sorted.
extern "C" __global__ void columns(const float *t, const float *edges, float *d, int c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < c)
        d[i] = edges[i] * t[(size_t)i * c + c - 1] * edges[c - 1];
}
