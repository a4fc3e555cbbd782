#include <cute/tensor.hpp>
using namespace cute;

template <class Cfg>
struct Kernel {
    using Element = typename Cfg::Element;
    __device__ static void run(const Element *x, Element *y, int n)
    {
        Tensor gx = make_tensor(make_gmem_ptr(x), make_layout(n));
        Tensor gy = make_tensor(make_gmem_ptr(y), make_layout(n));
        auto tile = Cfg::Tiler{};
        Tensor bx = local_tile(gx, tile, make_coord(blockIdx.x));
        Tensor by = local_tile(gy, tile, make_coord(blockIdx.x));
        Tensor tx = local_partition(bx, Cfg::Threads{}, threadIdx.x);
        Tensor ty = local_partition(by, Cfg::Threads{}, threadIdx.x);
        copy(tx, ty);
    }
};

struct Config {
    using Element = float;
    using Tiler = Shape<_1024>;
    using Threads = Layout<_256>;
};

extern "C" __global__ void copy_kernel(const float *x, float *y, int n) { Kernel<Config>::run(x, y, n); }
