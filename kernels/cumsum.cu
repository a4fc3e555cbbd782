/* hone-plan
{ "launches": [ { "kernel": "cumsum", "grid": ["R"], "block": [256], "args": ["x", "y", "C"] } ] }
*/
// One block per row, 256 columns at a time. Within the 256, thread t adds its neighbour at distance
// 1, 2, 4, ... 128 (Hillis and Steele's scan); `carry` is the sum of everything to the left.
extern "C" __global__ void cumsum(const float *x, float *y, int cols)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;

    float carry = 0;
    for (int j0 = 0; j0 < cols; j0 += 256) {
        float v = j0 + t < cols ? x[j0 + t] : 0.f;
        part[t] = v;
        __syncthreads();
        for (int d = 1; d < 256; d *= 2) {
            float left = t >= d ? part[t - d] : 0.f;
            __syncthreads(); // all have read before any writes
            v += left;
            part[t] = v;
            __syncthreads();
        }
        if (j0 + t < cols)
            y[j0 + t] = carry + v;
        carry += part[255];
        __syncthreads(); // part is used again
    }
}
