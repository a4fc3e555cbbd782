/* hone-plan
{ "launches": [ { "kernel": "depthwise", "grid": ["cdiv(N*C*H*W, 256)"], "block": [256],
                  "args": ["x", "w", "y", "N", "C", "H", "W"] } ] }
*/
// One thread per output pixel of a channel: nine products with the neighbours that lie inside the
// image. Neighbouring threads read nearly the same pixels, so most reads hit the L1 cache.
extern "C" __global__ void depthwise(const float *x, const float *w, float *y, int N, int C, int H,
                                     int W)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * H * W)
        return;
    long long plane = i / ((long long)H * W);
    int h = i / W % H, v = i % W;
    x += plane * H * W;
    w += plane % C * 9;

    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (h + dy >= 0 && h + dy < H && v + dx >= 0 && v + dx < W)
                sum += x[(long long)(h + dy) * W + v + dx] * w[(dy + 1) * 3 + dx + 1];
    y[i] = sum;
}
