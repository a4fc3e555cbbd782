/* hone-plan
@{plan}
*/
// Written from the task's graph. A launch computes one output, or one value that later launches
// read. Elementwise values are not stored: a launch that reads one computes it again. A unit is one element, or one line of elements.
@{includes}
@{templates}#define int64_t long long
#define uint64_t unsigned long long
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

constexpr int kThreads = @{threads};
constexpr int kItems = @{items}; // units of a thread

#define IN(t, i) hone_load(in_##t[i])
#define OUT(t, i, v) hone_put(&out_##t[i], v)
#define IN_AT(t, i) in_##t[i]
#define OUT_AT(t, i) out_##t[i]
#define AX(a) ax_##a
#define SC(s) sc_##s

template <class T>
__device__ T hone_load(const T &x)
{
    return x;
}

template <class T, class V>
__device__ void hone_put(T *p, V v)
{
    *p = (T)v;
}

template <class V>
__device__ void hone_put(bool *p, V v)
{
    *p = v != 0;
}

@{overloads}
// Several elements that lie side by side; their address is a multiple of their size.
template <class T, int N>
struct alignas(sizeof(T) * N) hone_vector {
    T at[N];
};

template <int N, class T>
__device__ hone_vector<T, N> hone_read(const T *p)
{
    return *reinterpret_cast<const hone_vector<T, N> *>(p);
}

template <int N, class T, class... V>
__device__ void hone_write(T *p, V... v)
{
    hone_vector<T, N> all;
    int k = 0;
    ((void)hone_put(&all.at[k++], v), ...);
    *reinterpret_cast<hone_vector<T, N> *>(p) = all;
}

// As in PyTorch, a NaN wins.
template <class A, class B>
__device__ auto hone_max(A a, B b) -> decltype(a + b)
{
    return a > b || a != a ? a : b;
}

__device__ float hone_max(float a, float b)
{
    float most;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
    return most;
}

template <class A, class B>
__device__ auto hone_min(A a, B b) -> decltype(a + b)
{
    return a < b || a != a ? a : b;
}

// An index into n elements, from the end if it is negative.
template <class I>
__device__ I hone_at(double i, I n)
{
    if (i < 0)
        i += (double)n;
    return i >= 0 && i < (double)n ? (I)i : 0;
}

// The end of a run of at most n elements.
template <class I>
__device__ I hone_end(double i, I n)
{
    return i >= 0 ? (i < (double)n ? (I)i : n) : 0;
}

template <class A, class B>
__device__ auto hone_size_min(A a, B b) -> decltype(a + b)
{
    return a < b ? a : b;
}

template <class A, class B>
__device__ auto hone_size_max(A a, B b) -> decltype(a + b)
{
    return a > b ? a : b;
}

template <class A, class B>
__device__ auto hone_size_cdiv(A a, B b) -> decltype(a + b)
{
    return a / b + (a % b > 0);
}

template <class A, class B>
__device__ auto hone_size_align(A a, B b) -> decltype(a + b)
{
    return (a / b + (a % b > 0)) * b;
}

template <class A>
__device__ A hone_size_pow2ceil(A a)
{
    A n = 1;
    while (n < a)
        n *= 2;
    return n;
}

// Integers wrap around.
__device__ double hone_int64(uint64_t v) { return (double)(int64_t)v; }
__device__ double hone_int32(uint64_t v) { return (double)(int)v; }
__device__ double hone_int16(uint64_t v) { return (double)(short)v; }
__device__ double hone_int8(uint64_t v) { return (double)(signed char)v; }
__device__ double hone_uint64(uint64_t v) { return (double)v; }
__device__ double hone_uint32(uint64_t v) { return (double)(unsigned)v; }
__device__ double hone_uint16(uint64_t v) { return (double)(unsigned short)v; }
__device__ double hone_uint8(uint64_t v) { return (double)(unsigned char)v; }

// Lanes: the threads of a block that compute one unit together. There are `lanes` of them, a power
// of two. The thread numbers of two neighbouring lanes differ by `apart`. All threads of the block must call these functions.
__device__ int hone_lane(int lanes, int apart)
{
    return apart == 1 ? threadIdx.x % lanes : threadIdx.x / apart;
}

template <class T>
__device__ T hone_across(T v, int by)
{
    return __shfl_xor_sync(~0u, v, by);
}

// Combines the lanes' values in a fixed order; each lane gets the result. If the lanes are
// neighbouring threads, it combines those of each warp first, and then the results of the warps.
template <class T, class F>
__device__ T hone_group(T v, int lanes, int apart, F combine)
{
    __shared__ T part[kThreads];
    const int lane = hone_lane(lanes, apart);
    if (apart == 1) {
        const int warp = threadIdx.x / 32, first = (threadIdx.x - lane) / 32;
        for (int step = 1; step < lanes && step < 32; step *= 2)
            v = combine(v, hone_across(v, step));
        if (lanes <= 32)
            return v;
        __syncthreads();
        if (threadIdx.x % 32 == 0)
            part[warp] = v;
        __syncthreads();
        v = part[first];
        for (int k = 1; k < lanes / 32; k++)
            v = combine(v, part[first + k]);
        return v;
    }
    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int step = lanes / 2; step > 0; step /= 2) {
        if (lane < step)
            part[threadIdx.x] = combine(part[threadIdx.x], part[threadIdx.x + step * apart]);
        __syncthreads();
    }
    return part[threadIdx.x - lane * apart];
}

template <class T>
__device__ T hone_group_sum(T v, int lanes, int apart)
{
    return hone_group(v, lanes, apart, [](T a, T b) { return a + b; });
}

template <class T>
__device__ T hone_group_prod(T v, int lanes, int apart)
{
    return hone_group(v, lanes, apart, [](T a, T b) { return a * b; });
}

template <class T>
__device__ T hone_group_max(T v, int lanes, int apart)
{
    return hone_group(v, lanes, apart, [](T a, T b) { return hone_max(a, b); });
}

template <class T>
__device__ T hone_group_min(T v, int lanes, int apart)
{
    return hone_group(v, lanes, apart, [](T a, T b) { return hone_min(a, b); });
}

// An element and its index; the index is -1 if there is no element.
template <class T>
struct hone_choice {
    T v;
    double i;
};

template <class T>
__device__ hone_choice<T> hone_across(hone_choice<T> c, int by)
{
    return {__shfl_xor_sync(~0u, c.v, by), __shfl_xor_sync(~0u, c.i, by)};
}

// If elements are equal, or several are NaN, the first one is chosen.
template <class T>
__device__ void hone_group_arg(T &v, double &i, int lanes, int apart, bool most)
{
    hone_choice<T> all = {v, i};
    all = hone_group(all, lanes, apart, [=](hone_choice<T> a, hone_choice<T> b) {
        if (a.i < 0 || b.i < 0)
            return a.i < 0 ? b : a;
        bool a_nan = a.v != a.v, b_nan = b.v != b.v;
        if (a_nan || b_nan)
            return a_nan && (!b_nan || a.i < b.i) ? a : b;
        if (a.v == b.v)
            return a.i < b.i ? a : b;
        return (a.v > b.v) == most ? a : b;
    });
    v = all.v;
    i = all.i;
}

template <class T>
__device__ void hone_group_argmax(T &v, double &i, int lanes, int apart)
{
    hone_group_arg(v, i, lanes, apart, true);
}

template <class T>
__device__ void hone_group_argmin(T &v, double &i, int lanes, int apart)
{
    hone_group_arg(v, i, lanes, apart, false);
}

template <class T>
__device__ bool hone_is_finite(T v)
{
    return v - v == 0;
}

// Off by at most 2^-17 of the result, and less for small |v|. In a sum of such terms whose largest is
// near 1, as exact as exp().
__device__ float hone_exp(float v) { return exp2f(v * 1.44269504f); }
__device__ double hone_exp(double v) { return exp(v); }

// a / b, off by at most 2^-22 of the result.
__device__ float hone_ratio(float a, float b)
{
    float q;
    asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
    return q;
}

// The largest element of a row, and the sum of exp(x - largest), in one loop. Each lane subtracts
// `shift`, an earlier maximum of its own, from its elements. It takes a new one if an element is much
// larger.
template <class T, int N>
struct hone_exps {
    T most = -INFINITY;
    T before = -INFINITY;  // the maximum when `shift` was chosen
    T shift = 0;           // `before`, or 0 if that is not finite
    T sum = 0, part[N] = {};

    __device__ void move(T to)
    {
        const T by = before == -INFINITY ? (T)1 : exp(shift - to);
        // An infinite factor must not change a zero.
        sum = sum == 0 ? sum : sum * by;
        for (int k = 0; k < N; k++)
            part[k] = part[k] == 0 ? part[k] : part[k] * by;
        shift = to;
    }

    template <class... V>
    __device__ void add(V... v)
    {
        const T x[N] = {(T)v...};
        T top = x[0];
        for (int k = 1; k < N; k++)
            top = hone_max(top, x[k]);
        most = hone_max(most, top);
        if (!(top <= before + 8)) {
            move(hone_is_finite(top) ? top : (T)0);
            before = top;
        }
        for (int k = 0; k < N; k++)
            part[k] += hone_exp(x[k] - shift);
    }

    __device__ void fold()
    {
        for (int k = 0; k < N; k++) {
            sum += part[k];
            part[k] = 0;
        }
    }

    __device__ T top(int lanes, int apart) { return hone_group_max(most, lanes, apart); }

    // The sum of the row; `all` is the row's maximum. If the maximum is not finite, the sum is NaN, or,
    // if the parameter `finite` is true, the sum of exp(x).
    __device__ T total(T all, bool finite, int lanes, int apart)
    {
        move(hone_is_finite(all) ? all : (T)0);
        const T row = hone_group_sum(sum, lanes, apart);
        return finite || hone_is_finite(all) ? row : (T)NAN;
    }
};

// The sum of a row, and the squares of the distances from its mean, in one loop. It takes a few
// vectors at a time. For each place in a vector, it adds up the distances from the element that the first
// of these vectors has there. Then it joins the sums of all places.
template <class T, int N>
struct hone_squares {
    T sum = 0;
    T n = 0, mean = 0, square = 0; // of the elements before the current ones
    int few = 0;                   // vectors since begin()
    T first[N], part[N] = {}, off[N] = {}, off_square[N] = {};

    template <class... V>
    __device__ void begin(V... v)
    {
        int k = 0;
        ((void)(first[k++] = (T)v), ...);
    }

    template <class... V>
    __device__ void add(V... v)
    {
        const T x[N] = {(T)v...};
        for (int k = 0; k < N; k++) {
            const T by = x[k] - first[k];
            part[k] += x[k];
            off[k] += by;
            off_square[k] += by * by;
        }
        few++;
    }

    __device__ void fold()
    {
        const T one = (T)1 / few, count = (T)few * N, from = first[0];
        T centre = 0, squares = 0;
        for (int k = 0; k < N; k++) {
            const T by = off[k] * one;
            sum += part[k];
            squares += off_square[k] - off[k] * by;
            off[k] = (first[k] - from) + by;
            centre += off[k] * ((T)1 / N);
        }
        for (int k = 0; k < N; k++) {
            squares += few * (off[k] - centre) * (off[k] - centre);
            part[k] = off[k] = off_square[k] = 0;
        }
        const T by = from + centre - mean, share = count / (n + count);
        mean += by * share;
        square += squares + by * by * n * share;
        n += count;
        few = 0;
    }

    __device__ T total(int lanes, int apart) { return hone_group_sum(sum, lanes, apart); }

    // Around the mean `all` of the row.
    __device__ T squares(T all, int lanes, int apart)
    {
        return hone_group_sum(n == 0 ? n : square + n * (mean - all) * (mean - all), lanes, apart);
    }
};

@{kernels}
