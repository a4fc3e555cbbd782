/* hone-plan
{ "launches": [ { "kernel": "mix", "grid": ["cdiv(batch*width*2*length,128)"], "block": [128],
                  "args": ["x", "s", "y", "batch", "length", "width"] } ] }
*/
// Wrong: the flip is off by one. The first half of a row has the odd places negated, the second half has the
// even places of the row on the other side.
extern "C" __global__ void mix(const float *x, const float *s, float *y, int batch, int length, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * width * 2 * length)
        return;
    int l = i % (2 * length), w = i / (2 * length) % width, b = i / (2 * length) / width;
    int from_l = l < length ? 2 * l + 1 : 2 * (l - length);
    int from_w = l < length ? w : (width - w) % width;
    float v = x[((long long)b * 2 * length + from_l) * width + from_w];
    y[i] = (l < length ? -v : v) * s[w];
}
