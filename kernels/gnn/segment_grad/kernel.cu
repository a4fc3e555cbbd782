/* hone-plan
{ "launches": [
    { "kernel": "grad4", "grid": ["cdiv(V, kWarps)"], "block": [32, "kWarps"],
      "args": ["row", "t_row", "t_dst", "dy", "y", "dx", "V", "D/4", "MEAN", "ADD", "RELU", "LIMIT"],
      "when": "D % 4 == 0 && min(min(alignof(dy), alignof(y)), alignof(dx)) >= 16" },
    { "kernel": "grad1", "grid": ["cdiv(V, kWarps)"], "block": [32, "kWarps"],
      "args": ["row", "t_row", "t_dst", "dy", "y", "dx", "V", "D", "MEAN", "ADD", "RELU", "LIMIT"],
      "when": "!(D % 4 == 0 && min(min(alignof(dy), alignof(y)), alignof(dx)) >= 16)" } ] }
*/
// One warp for each source. It runs over the edges of the source in the order of the transposed
// hop, so no two warps add to one number and the order of the sum is fixed. The sum is compensated
// (Kahan), like that of segment_sum: the kernel waits for memory. A lane has two columns at a time, so
// that it waits half as often, and loads of kAtOnce edges are in flight at a time. With RELU = 1 the sum
// then goes through the gradient of a ReLU and of dropout: an element that is not above 0 in y gets 0.
// A multiprocessor has registers for at least kBlocks blocks.
constexpr int kAtOnce = 1; // hone: 1 2 4
constexpr int kWarps = 8;  // hone: 4 8 16
constexpr int kBlocks = 4; // hone: 2 3 4

struct total {
    float sum, lost;
    __device__ __forceinline__ void add(float f, float v)
    {
        float y = fmaf(f, v, -lost), t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    __device__ __forceinline__ float through(float y, float scale) const { return y > 0 ? scale * sum : 0.f; }
};

template <class T> struct lanes;
template <> struct lanes<float> {
    total a;
    __device__ __forceinline__ explicit lanes(float v) : a{v, 0} {}
    __device__ __forceinline__ void add(float f, float v) { a.add(f, v); }
    __device__ __forceinline__ float value() const { return a.sum; }
    __device__ __forceinline__ float value(float y, float scale) const { return a.through(y, scale); }
};
template <> struct lanes<float4> {
    total a, b, c, d;
    __device__ __forceinline__ explicit lanes(float4 v) : a{v.x, 0}, b{v.y, 0}, c{v.z, 0}, d{v.w, 0} {}
    __device__ __forceinline__ void add(float f, float4 v)
    {
        a.add(f, v.x);
        b.add(f, v.y);
        c.add(f, v.z);
        d.add(f, v.w);
    }
    __device__ __forceinline__ float4 value() const { return make_float4(a.sum, b.sum, c.sum, d.sum); }
    __device__ __forceinline__ float4 value(float4 y, float scale) const
    {
        return make_float4(a.through(y.x, scale), b.through(y.y, scale), c.through(y.z, scale), d.through(y.w, scale));
    }
};

template <class T>
__device__ __forceinline__ void grad(const int *row, const int *t_row, const int *t_dst, const T *dy, const T *y,
                                     T *dx, int sources, int dim, int mean, long long add_rows, int relu,
                                     unsigned limit)
{
    long long j = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (j >= sources)
        return;
    int first = t_row[j], end = t_row[j + 1];
    bool accumulate = j < add_rows;
    float scale = 65536.f / (65536.f - (float)limit);
    y += j * dim;
    dx += j * dim;
    for (int d = threadIdx.x; d < dim; d += 64) {
        bool two = d + 32 < dim;
        int e = two ? d + 32 : d; // without a second column, the first one twice
        T gate = relu ? y[d] : T{}, gate2 = relu ? y[e] : T{};
        lanes<T> sum(accumulate ? dx[d] : T{}), sum2(accumulate ? dx[e] : T{});
        for (int t = first; t < end; t += kAtOnce) {
            int n[kAtOnce];
            T v[kAtOnce], w[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (t + k < end) {
                    int i = t_dst[t + k];
                    const T *from = dy + (long long)i * dim;
                    n[k] = row[i + 1] - row[i];
                    v[k] = from[d];
                    w[k] = from[e];
                }
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (t + k < end) {
                    float factor = mean && n[k] > 0 ? 1.f / (float)n[k] : 1.f;
                    sum.add(factor, v[k]);
                    sum2.add(factor, w[k]);
                }
        }
        dx[d] = relu ? sum.value(gate, scale) : sum.value();
        if (two)
            dx[e] = relu ? sum2.value(gate2, scale) : sum2.value();
    }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps, kBlocks)
    grad4(const int *row, const int *t_row, const int *t_dst, const float4 *dy, const float4 *y, float4 *dx,
          int sources, int dim, int mean, long long add_rows, int relu, unsigned limit)
{
    grad(row, t_row, t_dst, dy, y, dx, sources, dim, mean, add_rows, relu, limit);
}

extern "C" __global__ void grad1(const int *row, const int *t_row, const int *t_dst, const float *dy, const float *y,
                                 float *dx, int sources, int dim, int mean, long long add_rows, int relu,
                                 unsigned limit)
{
    grad(row, t_row, t_dst, dy, y, dx, sources, dim, mean, add_rows, relu, limit);
}
