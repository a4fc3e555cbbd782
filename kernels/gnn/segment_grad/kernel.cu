/* hone-plan
{ "launches": [
    { "kernel": "grad4", "grid": ["cdiv(V, 8)"], "block": [32, 8],
      "args": ["row", "t_row", "t_dst", "dy", "dx", "V", "D/4", "MEAN", "ADD"],
      "when": "D % 4 == 0 && alignof(dy) >= 16 && alignof(dx) >= 16" },
    { "kernel": "grad1", "grid": ["cdiv(V, 8)"], "block": [32, 8],
      "args": ["row", "t_row", "t_dst", "dy", "dx", "V", "D", "MEAN", "ADD"],
      "when": "!(D % 4 == 0 && alignof(dy) >= 16 && alignof(dx) >= 16)" } ] }
*/
// One warp for each source. It runs over the edges of the source in the order of the transposed
// hop, so no two warps add to one number and the order of the sum is fixed. The sum is compensated
// (Kahan), like that of segment_sum: the kernel waits for memory.
struct total {
    float sum, lost;
    __device__ __forceinline__ void add(float f, float v)
    {
        float y = fmaf(f, v, -lost), t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
};

template <class T> struct lanes;
template <> struct lanes<float> {
    total a;
    __device__ __forceinline__ explicit lanes(float v) : a{v, 0} {}
    __device__ __forceinline__ void add(float f, float v) { a.add(f, v); }
    __device__ __forceinline__ float value() const { return a.sum; }
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
};

template <class T>
__device__ __forceinline__ void grad(const int *row, const int *t_row, const int *t_dst, const T *dy,
                                     T *dx, int sources, int dim, int mean, long long add_rows)
{
    long long j = (long long)blockIdx.x * 8 + threadIdx.y;
    if (j >= sources)
        return;
    int first = t_row[j], end = t_row[j + 1];
    bool accumulate = j < add_rows;
    for (int d = threadIdx.x; d < dim; d += 32) {
        lanes<T> sum(accumulate ? dx[j * dim + d] : T{});
        for (int t = first; t < end; t++) {
            int i = t_dst[t], n = row[i + 1] - row[i];
            sum.add(mean && n > 0 ? 1.f / (float)n : 1.f, dy[(long long)i * dim + d]);
        }
        dx[j * dim + d] = sum.value();
    }
}

extern "C" __global__ void grad4(const int *row, const int *t_row, const int *t_dst, const float4 *dy,
                                 float4 *dx, int sources, int dim, int mean, long long add_rows)
{
    grad(row, t_row, t_dst, dy, dx, sources, dim, mean, add_rows);
}

extern "C" __global__ void grad1(const int *row, const int *t_row, const int *t_dst, const float *dy,
                                 float *dx, int sources, int dim, int mean, long long add_rows)
{
    grad(row, t_row, t_dst, dy, dx, sources, dim, mean, add_rows);
}
