/* hone-plan
{ "launches": [
    { "kernel": "mix4", "when": "C % 4 == 0 && min(alignof(in), alignof(scale), alignof(out)) >= 16",
      "grid": ["cdiv(C/4, 64)", "R"], "block": [64], "args": ["in", "scale", "out", "C/4", "alpha", "shift"] },
    { "kernel": "mix", "when": "!(C % 4 == 0 && min(alignof(in), alignof(scale), alignof(out)) >= 16)",
      "grid": ["cdiv(C, 64)", "R"], "block": [64], "args": ["in", "scale", "out", "C", "alpha", "shift"] },
    { "kernel": "sums", "grid": ["G*R"], "block": [128], "cluster": ["G"], "smem": "4*128",
      "args": ["out", "parts", "C"] },
    { "kernel": "finish", "grid": ["cdiv(R, 64)"], "block": [64], "cooperative": true,
      "args": ["parts", "total", "R", "R > 1 ? G : 2"] } ],
  "workspace": { "parts": { "bytes": "4*G*R", "init": "zero" } } }
*/
// The plan has one of everything that a plan can say, except tensor maps.
extern "C" __global__ void mix4(const float4 *in, const float4 *scale, float4 *out, int n, float alpha, int shift)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n)
        return;
    const float4 *row = in + (long long)blockIdx.y * 2 * n;
    float4 a = row[c], b = row[n + c], s = scale[c];
    out[(long long)blockIdx.y * n + c] =
        make_float4(alpha * a.x * s.x + b.x + shift, alpha * a.y * s.y + b.y + shift,
                    alpha * a.z * s.z + b.z + shift, alpha * a.w * s.w + b.w + shift);
}

extern "C" __global__ void mix(const float *in, const float *scale, float *out, long long n, double alpha, short shift)
{
    long long c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n)
        out[blockIdx.y * n + c] =
            (float)alpha * in[blockIdx.y * 2 * n + c] * scale[c] + in[blockIdx.y * 2 * n + n + c] + shift;
}

extern "C" __global__ void sums(const float *out, float *parts, int n)
{
    extern __shared__ float part[];
    long long row = blockIdx.x / 2;
    float sum = 0;
    for (int c = threadIdx.x + 128 * (blockIdx.x % 2); c < n; c += 256)
        sum += out[row * n + c];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(&parts[blockIdx.x], part[0]);
}

extern "C" __global__ void finish(const float *parts, float *total, unsigned rows, int per_row)
{
    unsigned r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        total[r] = parts[r * per_row] + parts[r * per_row + 1];
}
