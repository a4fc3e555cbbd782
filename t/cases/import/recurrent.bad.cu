/* hone-plan
{ "launches": [ { "kernel": "lstm", "grid": ["batch"], "block": [64],
                  "args": ["x", "lstm_weight_ih_l0", "lstm_weight_hh_l0", "lstm_bias_ih_l0", "lstm_bias_hh_l0",
                           "y0", "y1", "batch", "seq", "features", "hidden"] },
                { "kernel": "gru", "grid": ["batch"], "block": [64],
                  "args": ["x", "gru_weight_ih_l0", "gru_weight_hh_l0", "gru_bias_ih_l0", "gru_bias_hh_l0",
                           "y2", "batch", "seq", "features", "hidden"] } ] }
*/
// Wrong: the reset gate of the GRU leaves out the bias.
__device__ float dot(const float *a, const float *b, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

__device__ float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

extern "C" __global__ void lstm(const float *x, const float *wi, const float *wh, const float *bi,
                                const float *bh, float *y, float *cell, int batch, int seq,
                                int features, int hidden)
{
    int b = blockIdx.x;
    for (int t = 0; t < seq; t++) {
        const float *in = x + ((long long)b * seq + t) * features;
        float *out = y + ((long long)b * seq + t) * hidden;
        for (int j = threadIdx.x; j < hidden; j += blockDim.x) {
            float gate[4];
            for (int g = 0; g < 4; g++) {
                int row = g * hidden + j;
                gate[g] = dot(in, wi + (long long)row * features, features) + bi[row] + bh[row];
                if (t > 0)
                    gate[g] += dot(out - hidden, wh + (long long)row * hidden, hidden);
            }
            float c = sigmoid(gate[0]) * tanhf(gate[2]);
            if (t > 0)
                c += sigmoid(gate[1]) * cell[(long long)b * hidden + j];
            cell[(long long)b * hidden + j] = c;
            out[j] = sigmoid(gate[3]) * tanhf(c);
        }
        __syncthreads();
    }
}

extern "C" __global__ void gru(const float *x, const float *wi, const float *wh, const float *bi,
                               const float *bh, float *y, int batch, int seq, int features, int hidden)
{
    int b = blockIdx.x;
    for (int t = 0; t < seq; t++) {
        const float *in = x + ((long long)b * seq + t) * features;
        float *out = y + ((long long)t * batch + b) * hidden;
        const float *old = out - (long long)batch * hidden;
        for (int j = threadIdx.x; j < hidden; j += blockDim.x) {
            float i[3], h[3];
            for (int g = 0; g < 3; g++) {
                int row = g * hidden + j;
                i[g] = dot(in, wi + (long long)row * features, features) + bi[row];
                h[g] = bh[row];
                if (t > 0)
                    h[g] += dot(old, wh + (long long)row * hidden, hidden);
            }
            float z = sigmoid(i[1] + h[1]), n = tanhf(i[2] + bh[2 * hidden + j] + sigmoid(i[0] + h[0]) * (h[2] - bh[2 * hidden + j]));
            out[j] = (1 - z) * n + (t > 0 ? z * old[j] : 0);
        }
        __syncthreads();
    }
}
