/* hone-plan
{ "launches": [ { "kernel": "depthwise", "grid": ["cdiv(N*C*H*W, 256)"], "block": [256],
                  "args": ["x", "w", "y", "N", "C", "H", "W"] } ] }
*/
extern "C" __global__ void depthwise(const float *x, const float *w, float *y, int N, int C, int H, int W)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * H * W)
        return;
    int plane = i / (H * W), h = i / W % H, v = i % W;
    x += plane * H * W;
    w += plane % C * 9;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (h + dy >= 0 && h + dy < H && v + dx >= 0 && v + dx < W)
                sum += x[(h + dy) * W + v + dx] * w[(dy + 1) * 3 + dx + 1];
    y[i] = sum;
}
