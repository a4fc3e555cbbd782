/*
 * Kernels for the worker's smoke test. Each computes z = x + y over n floats, and most do one thing
 * wrong. The job (smoke_job.c) launches one of them with 256 threads a block.
 */
#define ARGS const float *x, const float *y, float *z, int n
#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define ADD                     \
    do {                        \
        unsigned i = I;         \
        if (i < n)              \
            z[i] = x[i] + y[i]; \
    } while (0)

__device__ int calls;
extern "C" __device__ int printf(const char *, ...);

extern "C" __global__ void good(ARGS)
{
    ADD;
}
extern "C" __global__ void partial(ARGS) /* the last 37 are missing */
{
    unsigned i = I;
    if (i < n - 37)
        z[i] = x[i] + y[i];
}
extern "C" __global__ void wrong(ARGS) /* every 4th is off */
{
    unsigned i = I;
    if (i < n)
        z[i] = x[i] + y[i] + (i % 4 == 1 ? 0.5f * (float)(i % 7 + 1) : 0.0f);
}
extern "C" __global__ void past_end(ARGS)
{
    ADD;
    if (I == 0)
        z[n + 3] = 1.0f;
}
extern "C" __global__ void write_input(ARGS)
{
    ADD;
    if (I == 5)
        ((float *)x)[5] = 7.0f;
}
extern "C" __global__ void stateful(ARGS)
{
    ADD;
    if (I == 0)
        calls++;
}
extern "C" __global__ void wild(ARGS)
{
    ADD;
    if (I == 0)
        *(volatile float *)16 = z[0];
}
extern "C" __global__ void odd(ARGS) /* writes to a misaligned address */
{
    ADD;
    if (I == 0)
        *(volatile float *)((char *)z + 2) = 1.0f;
}
extern "C" __global__ void trap(ARGS)
{
    ADD;
    if (I == 3)
        asm volatile("trap;");
}
extern "C" __global__ void hang(ARGS)
{
    ADD;
    volatile float *p = z;
    while (p[0] != 1234567.0f)
        ;
}
extern "C" __global__ void chatty(ARGS)
{
    ADD;
    printf("thread %d says hello, at length, to whoever may be listening\n", (int)I);
}
extern "C" __global__ void noisy(ARGS) /* the result depends on the clock */
{
    unsigned i = I;
    if (i < n)
        z[i] = x[i] + y[i] + ((clock64() & 1) ? 1e-7f : 0.0f);
}
extern "C" __global__ void big_shared(ARGS)
{
    extern __shared__ float s[];
    unsigned i = I, last = 25000;
    s[last] = 0;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n)
        z[i] = s[threadIdx.x] + y[i];
}
