struct total {
    float sum, lost;
    __device__ __forceinline__ void add(float v)
    {
        float y = v - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
};

template <class T> struct lanes;
template <> struct lanes<float> {
    total a = {};
    __device__ __forceinline__ void add(float v) { a.add(v); }
    __device__ __forceinline__ float times(float f) const { return a.sum * f; }
};
template <> struct lanes<float4> {
    total a = {}, b = {}, c = {}, d = {};
    __device__ __forceinline__ void add(float4 v)
    {
        a.add(v.x);
        b.add(v.y);
        c.add(v.z);
        d.add(v.w);
    }
    __device__ __forceinline__ float4 times(float f) const
    {
        return make_float4(a.sum * f, b.sum * f, c.sum * f, d.sum * f);
    }
};
