/* hone-plan
{ "launches": [ { "kernel": "ffn", "grid": ["cdiv(rows*hidden,128)"], "block": [128],
                  "args": ["x", "gate_weight", "gate_bias", "up_weight", "y", "rows", "features", "hidden"] } ] }
*/
// One thread per element of y.
extern "C" __global__ void ffn(const float *x, const float *wg, const float *bg, const float *wu, float *y,
                               int rows, int features, int hidden)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * hidden)
        return;
    const float *row = x + (long long)(i / hidden) * features;
    int h = i % hidden;
    float gate = 0, up = 0;
    for (int k = 0; k < features; k++) {
        gate += row[k] * wg[(long long)h * features + k];
        up += row[k] * wu[(long long)h * features + k];
    }
    gate += bg[h];
    y[i] = gate / (1 + expf(-gate)) * up;
}
