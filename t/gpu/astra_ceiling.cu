// How fast can a kernel for the tasks of suites/astra3 be? Times FlashInfer's kernels beside kernels that only move the
// bytes: they load the large tensors of the task and store its large outputs, with next to no arithmetic and no
// dependence between elements. A right kernel has more to do. t/gpu/astra_ceiling.sh compiles and runs this.
//
// Each call is timed alone, as Hone does it: with a cold L2 (flushed by writing, then by reading other memory) or a warm
// one (all tensors are read), behind a gate that opens when everything is queued, between two events. The calls of a
// shape take turns.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <flashinfer/activation.cuh>
#include <flashinfer/attention/cascade.cuh>
#include <flashinfer/norm.cuh>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t status = (call);                                                            \
        if (status != cudaSuccess) {                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));             \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

using Call = std::function<void()>;
static cudaStream_t stream;

__device__ __forceinline__ float silu(const float &v) { return v / (1.0f + __expf(-v)); }

__device__ uint4 join(uint4 a, uint4 b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }

// Reads two vectors and writes one or two, kUnroll times for each thread. n is the number of vectors.
template <int kUnroll, bool kTwo>
__global__ void move(const uint4 *a, const uint4 *b, uint4 *out, uint4 *second, unsigned n)
{
    unsigned first = blockIdx.x * blockDim.x * kUnroll + threadIdx.x;
    uint4 va[kUnroll], vb[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; k++)
        if (unsigned i = first + k * blockDim.x; i < n) {
            va[k] = a[i];
            vb[k] = b[i];
        }
#pragma unroll
    for (int k = 0; k < kUnroll; k++)
        if (unsigned i = first + k * blockDim.x; i < n) {
            out[i] = join(va[k], vb[k]);
            if (kTwo)
                second[i] = va[k];
        }
}

__global__ void gate(const volatile unsigned *flag, unsigned turn)
{
    while (*flag < turn)
        ;
}

__global__ void write_all(uint4 *p, size_t n, unsigned v)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        p[i] = {v, v, v, v};
}

__global__ void read_all(const uint4 *p, size_t n, unsigned *sink)
{
    unsigned sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        sum += p[i].x;
    if (sum == 0x9e3779b9)
        *sink = sum;
}

struct Range {
    const uint4 *p;
    size_t vectors;
};

// The median times of some calls, in microseconds.
class Timer {
    static constexpr size_t kFlush = 256 << 20;
    uint4 *flush;
    unsigned *sink, *flag, turn = 0;
    cudaEvent_t begin, end;

    float once(const Call &call, const std::vector<Range> &tensors, bool warm)
    {
        if (warm) {
            for (const Range &t : tensors)
                read_all<<<2048, 256, 0, stream>>>(t.p, t.vectors, sink);
        } else {
            write_all<<<2048, 256, 0, stream>>>(flush, kFlush / 16, turn);
            read_all<<<2048, 256, 0, stream>>>(flush + kFlush / 16, kFlush / 16, sink);
        }
        gate<<<1, 1, 0, stream>>>(flag, ++turn);
        CHECK(cudaEventRecord(begin, stream));
        call();
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end, stream));
        __atomic_store_n(flag, turn, __ATOMIC_SEQ_CST);
        CHECK(cudaStreamSynchronize(stream));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms * 1e3f;
    }

  public:
    Timer()
    {
        CHECK(cudaMalloc(&flush, 2 * kFlush));
        CHECK(cudaMemset(flush, 0, 2 * kFlush));
        CHECK(cudaMalloc(&sink, sizeof *sink));
        CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
        *flag = 0;
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
    }

    std::vector<float> medians(const std::vector<Call> &calls, const std::vector<Range> &tensors, bool warm)
    {
        const int rounds = 61, unused = 3;
        std::vector<std::vector<float>> times(calls.size());
        for (int r = 0; r < rounds + unused; r++)
            for (size_t i = 0; i < calls.size(); i++) {
                float us = once(calls[i], tensors, warm);
                if (r >= unused)
                    times[i].push_back(us);
            }
        std::vector<float> out;
        for (auto &t : times) {
            std::nth_element(t.begin(), t.begin() + rounds / 2, t.end());
            out.push_back(t[rounds / 2]);
        }
        return out;
    }
};

struct Memory {
    __half *a, *b, *c;
    float *sa, *sb, *s;

    Memory()
    {
        const size_t most = size_t(4096) * 2 * 11008 * sizeof(__half), sums = 1 << 20;
        for (__half **p : {&a, &b, &c}) {
            CHECK(cudaMalloc(p, most));
            CHECK(cudaMemset(*p, 0x11, most));
        }
        for (float **p : {&sa, &sb, &s}) {
            CHECK(cudaMalloc(p, sums));
            CHECK(cudaMemset(*p, 0, sums));
        }
    }
};

// Calls that read `n` vectors from each of two places and write as many to one place, or to two.
template <bool kTwo>
static void add_moves(std::vector<Call> &calls, const __half *a, const __half *b, __half *out, __half *second, unsigned n)
{
    auto add = [&](auto *kernel, unsigned unroll) {
        for (unsigned threads : {64, 128, 256, 512, 1024})
            calls.push_back([=] {
                kernel<<<(n + threads * unroll - 1) / (threads * unroll), threads, 0, stream>>>(
                    (const uint4 *)a, (const uint4 *)b, (uint4 *)out, (uint4 *)second, n);
            });
    };
    add(move<1, kTwo>, 1);
    add(move<2, kTwo>, 2);
    add(move<4, kTwo>, 4);
}

static void launch_silu(__half *out, const __half *x, unsigned rows, int d)
{
    cudaLaunchAttribute pdl = {};
    pdl.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    pdl.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = rows;
    config.blockDim = std::min(d / 8, 256);
    config.stream = stream;
    config.attrs = &pdl;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, flashinfer::activation::act_and_mul_kernel<__half, silu, 8>, out, x, d));
}

struct Shape {
    std::string task, text;
    std::vector<Range> tensors; // the large ones
    std::vector<Call> calls;    // FlashInfer's kernel, then the kernels that only move bytes
};

static std::vector<Shape> shapes(const Memory &m)
{
    std::vector<Shape> all;
    const unsigned merge[][3] = {{512, 32, 256}, {512, 40, 128}, {768, 32, 256}, {768, 40, 128}, {512, 64, 128}};
    for (auto [n, h, d] : merge) {
        Shape s = {"merge_attn_states", "N=" + std::to_string(n) + " H=" + std::to_string(h) + " D=" + std::to_string(d)};
        s.calls.push_back([=, &m] {
            CHECK((flashinfer::MergeState<__half, __half>(m.a, m.sa, m.b, m.sb, m.c, m.s, n, h, d, stream)));
        });
        add_moves<false>(s.calls, m.a, m.b, m.c, nullptr, n * h * d / 8);
        for (const __half *p : {m.a, m.b, m.c})
            s.tensors.push_back({(const uint4 *)p, n * h * d / 8});
        all.push_back(s);
    }
    const unsigned norm[][2] = {{256, 4096}, {1024, 4096}, {128, 11008}, {512, 14336}, {2048, 8192}};
    for (auto [b, d] : norm) {
        Shape s = {"fused_add_rmsnorm", "B=" + std::to_string(b) + " D=" + std::to_string(d)};
        s.calls.push_back([=, &m] {
            CHECK(flashinfer::norm::FusedAddRMSNorm<__half>(m.a, m.b, m.c, b, d, d, d, 1e-5f, true, stream));
        });
        // The kernel writes to the place from which it reads, as the task does.
        add_moves<true>(s.calls, m.a, m.b, m.a, m.b, b * d / 8);
        for (const __half *p : {m.a, m.b})
            s.tensors.push_back({(const uint4 *)p, b * d / 8});
        all.push_back(s);
    }
    const unsigned gated[][2] = {{16, 4096}, {32, 5120}, {64, 8192}, {16, 12288}, {4096, 11008}};
    for (auto [b, d] : gated) {
        Shape s = {"silu_and_mul", "B=" + std::to_string(b) + " D=" + std::to_string(d)};
        s.calls.push_back([=, &m] { launch_silu(m.c, m.a, b, int(d)); });
        add_moves<false>(s.calls, m.a, m.a + size_t(b) * d, m.c, nullptr, b * d / 8);
        s.tensors = {{(const uint4 *)m.a, b * d / 4}, {(const uint4 *)m.c, b * d / 8}};
        all.push_back(s);
    }
    return all;
}

int main()
{
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Timer timer;
    Memory memory;
    printf("%-5s %-18s %-20s %11s %10s %8s\n", "L2", "task", "shape", "FlashInfer", "bytes only", "ratio");
    for (bool warm : {false, true}) {
        const char *l2 = warm ? "warm" : "cold";
        double product = 1;
        int tasks = 0, count = 0;
        double logs = 0;
        std::string task;
        auto finish_task = [&] {
            if (!count)
                return;
            double mean = exp(logs / count);
            printf("%-5s %-18s %-42s %7.3fx\n", l2, task.c_str(), "geometric mean", mean);
            product *= mean;
            tasks++;
            logs = count = 0;
        };
        for (Shape &s : shapes(memory)) {
            if (s.task != task)
                finish_task();
            task = s.task;
            std::vector<float> us = timer.medians(s.calls, s.tensors, warm);
            float best = *std::min_element(us.begin() + 1, us.end());
            printf("%-5s %-18s %-20s %11.2f %10.2f %7.3fx\n", l2, s.task.c_str(), s.text.c_str(), us[0], best, us[0] / best);
            logs += log(us[0] / best);
            count++;
        }
        finish_task();
        printf("%-5s %-18s %-42s %7.3fx\n", l2, "3 tasks", "geometric mean of the means", pow(product, 1.0 / tasks));
    }
}
