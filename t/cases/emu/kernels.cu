// Kernels for t/unit/emu_san.c, one per line: the line number is what a finding must name. The PTX
// beside it was made with: nvcc -ptx -lineinfo -arch=sm_90a kernels.cu (paths removed).
// Grid 4, block 256; x 1024 floats, y 1024 floats to write, ws 1024 floats never written, cnt zeros.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define ARGS (const float *x, float *y, float *ws, unsigned *cnt, long long n)
#define T threadIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)
K good_reverse ARGS { __shared__ float s[256]; s[T] = x[I]; __syncthreads(); y[I] = s[255 - T]; }
K race_no_barrier ARGS { __shared__ float s[256]; s[T] = x[I]; y[I] = s[255 - T]; }
K uninit_shared ARGS { __shared__ float s[256]; if (T != 7) s[T] = x[I]; __syncthreads(); y[I] = s[T]; }
K good_reduce ARGS { __shared__ float s[256]; s[T] = x[I]; __syncthreads(); for (int o = 128; o > 0; o >>= 1) { if (T < o) s[T] += s[T + o]; __syncthreads(); } y[I] = s[0]; }
K race_reduce ARGS { __shared__ float s[256]; s[T] = x[I]; __syncthreads(); for (int o = 128; o > 0; o >>= 1) { if (T < o) s[T] += s[T + o]; } __syncthreads(); y[I] = s[0]; }
K race_reuse ARGS { __shared__ float s[256]; float a = 0; for (int k = 0; k < 3; k++) { s[T] = x[I] + k; __syncthreads(); a += s[255 - T]; } y[I] = a; }
K race_in_warp ARGS { __shared__ float s[256]; s[T] = x[I]; y[I] = s[T ^ 1]; }
K good_syncwarp ARGS { __shared__ float s[256]; s[T] = x[I]; __syncwarp(); y[I] = s[T ^ 1]; }
K race_two_writers ARGS { __shared__ float s[128]; s[T >> 1] = x[I] + T; __syncthreads(); y[I] = s[T >> 1]; }
K good_same_value ARGS { __shared__ int s; s = 1; __syncthreads(); y[I] = s; }
K good_half_words ARGS { __shared__ unsigned short s[256]; s[(T & 7) * 32 + (T >> 3)] = T; __syncthreads(); y[I] = s[T]; }
K oob_read ARGS { y[I] = x[I + 1]; }
K oob_write ARGS { if (I == 0) y[0] = 0; y[I + 1] = x[I]; }
K oob_negative ARGS { y[I] = x[(int)I - 1]; }
K oob_far ARGS { y[I * 100000] = x[I]; }
K oob_shared ARGS { __shared__ float s[256]; s[T] = x[I]; __syncthreads(); y[I] = s[T + 2000]; }
K misaligned ARGS { y[I] = *(const float *)((const char *)x + 2); }
K misaligned_vector ARGS { float2 v = *(const float2 *)(x + 1); y[I] = v.x + v.y; }
K uninit_workspace ARGS { y[I] = ws[I] + x[I]; }
K uninit_output ARGS { y[I] = y[I] + x[I]; }
K unwritten ARGS { if (I % 2 == 0) y[I] = x[I]; }
K barrier_in_branch ARGS { if (T < 200) __syncthreads(); y[I] = x[I]; }
K barrier_odd_lanes ARGS { if (T & 1) __syncthreads(); y[I] = x[I]; }
K barrier_after_exit ARGS { if (T >= 100) { y[I] = 0; return; } __syncthreads(); y[I] = x[I]; }
K race_between_blocks ARGS { ws[T] = x[I]; y[I] = 0; }
K race_read_other_block ARGS { ws[I] = x[I]; y[I] = ws[(I + 256) % 1024]; }
K good_last_block ARGS { __shared__ bool last; ws[I] = x[I]; __threadfence(); __syncthreads(); if (T == 0) last = atomicAdd(cnt, 1) == gridDim.x - 1; __syncthreads(); if (last) { __threadfence(); for (int i = T; i < 1024; i += 256) y[i] = ws[1023 - i]; } }
K race_last_block ARGS { __shared__ bool last; ws[I] = x[I]; __syncthreads(); if (T == 0) last = atomicAdd(cnt, 1) == gridDim.x - 1; __syncthreads(); if (last) { for (int i = T; i < 1024; i += 256) y[i] = ws[1023 - i]; } }
K good_atomics ARGS { atomicAdd((float *)cnt + (T & 7), x[I]); y[I] = 1; }
K good_grid_barrier ARGS { ws[I] = x[I]; cg::this_grid().sync(); y[I] = ws[1023 - I]; }
K good_look_back ARGS { volatile unsigned *flag = cnt + 16; __shared__ float prev; if (T == 0) { float p = 0; if (blockIdx.x > 0) { while (flag[blockIdx.x - 1] == 0); __threadfence(); p = ws[blockIdx.x - 1]; } prev = p; ws[blockIdx.x] = p + x[I]; __threadfence(); flag[blockIdx.x] = 1; } __syncthreads(); y[I] = prev; }
K race_flag_first ARGS { volatile unsigned *flag = cnt + 16; __shared__ float prev; if (T == 0) { float p = 0; if (blockIdx.x > 0) { while (flag[blockIdx.x - 1] == 0); __threadfence(); p = ws[blockIdx.x - 1]; } prev = p; __threadfence(); flag[blockIdx.x] = 1; ws[blockIdx.x] = p + x[I]; } __syncthreads(); y[I] = prev; }
K good_lane_waits_for_lane ARGS { __shared__ volatile int f; if (T == 0) f = 0; __syncthreads(); if ((T & 31) == 1) { while (f == 0); } else if (T == 0) { f = 1; } y[I] = x[I]; }
K good_spin_lock ARGS { __shared__ int lock; __shared__ volatile int c; if (T == 0) { lock = 0; c = 0; } __syncthreads(); while (atomicCAS(&lock, 0, 1) != 0); c = c + 1; __threadfence_block(); atomicExch(&lock, 0); __syncthreads(); y[I] = c; }
K hang_spin ARGS { while (((volatile unsigned *)cnt)[0] == 0); y[I] = 0; }
K hang_barriers ARGS { if (T < 128) asm volatile("bar.sync 1, 256;"); else asm volatile("bar.sync 2, 256;"); y[I] = 0; }
K traps ARGS { y[I] = 0; if (I == 77) __trap(); }
K good_printf ARGS { if (I == 3) y[I] = printf("hello %d %5.2f %s %llu %%\n", 42, 3.14159, "str", 123456789012ull); else y[I] = 0; if (I == 4) printf("[%-5s|%3c|%hhd|%*x|%.2s]\n", "ab", 'z', 300, 4, 255, "xyz"); }
__device__ float plus1(float a) { return a + 1; }
__device__ float twice(float a) { return a * 2; }
__device__ __noinline__ float fib(float n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ float (*table[2])(float) = {plus1, twice};
K good_calls ARGS { y[I] = table[(T + (n >> 20)) & 1](x[I]) + fib(5 + (T & 3)); }
K good_divergent_loop ARGS { float a = 0; for (int k = 0; k < (int)(T & 31); k++) a += __shfl_sync(__activemask(), x[I], T & 31); y[I] = a; }
K good_switch ARGS { float a = x[I]; switch (T % 7) { case 0: a += 1; break; case 1: a *= 2; break; case 2: a -= 3; break; case 3: a /= 4; break; case 4: a = sqrtf(a); break; case 5: a = -a; break; default: a = 9; } y[I] = a; }
K good_cas_seed ARGS { unsigned old = cnt[0], seen; do { seen = old; old = atomicCAS(cnt, seen, seen + 1); } while (old != seen); y[I] = x[I]; }
__device__ __noinline__ void wait_for(volatile int *f, int v) { while (*f != v); }
K good_generic_flag ARGS { __shared__ int f; if (T == 0) f = 0; __syncthreads(); if (T == 255) *(volatile int *)&f = 7; wait_for(&f, 7); y[I] = x[I]; }
K good_wide_tile ARGS { auto t = cg::tiled_partition<128>(cg::this_thread_block()); float a = cg::reduce(t, x[I], cg::greater<float>()); t.sync(); y[I] = a + t.shfl(x[I], 5); }
K oob_generic_shared ARGS { __shared__ float s[256]; s[T] = x[I]; __syncthreads(); float *p = n < 0 ? y : s; y[I] = p[(int)T - 200]; }
K poison_shuffle ARGS { float a = x[I]; if (T % 32 < 20) a = __shfl_down_sync(0xfffff, a, 4); y[I] = a; }
K poison_local ARGS { float a[32]; for (int k = 0; k < n / 64; k++) a[k * 5 % 32] = x[k]; y[I] = a[T % 32]; }
K race_in_block ARGS { ws[I] = x[I]; y[I] = ws[I ^ 32]; }
K good_in_block ARGS { ws[I] = x[I]; __syncthreads(); y[I] = ws[I ^ 32]; __syncthreads(); ws[I ^ 64] = y[I]; }
K good_block_flag ARGS { volatile unsigned *f = cnt + 32 + blockIdx.x; ws[I] = x[I]; if (T < 32) { __threadfence(); __syncwarp(); if (T == 0) *f = 1; } if (T >= 224) { while (*f == 0); __threadfence(); } y[I] = T >= 224 ? ws[I - 224] : 0; }
K hang_shared_flag ARGS { __shared__ volatile int f; if (T == 0) f = 0; __syncthreads(); if (T == 33) while (f == 0); __syncthreads(); y[I] = x[I]; }
K hang_chain ARGS { volatile unsigned *f = cnt + 48; if (T == 0 && blockIdx.x > 0) while (f[blockIdx.x - 1] == 0); __syncthreads(); y[I] = x[I]; if (T == 0 && blockIdx.x != 1) f[blockIdx.x] = 1; }
K good_long_wait ARGS { volatile unsigned *f = cnt + 56; float a = x[I]; if (blockIdx.x == 0) for (int k = 0; k < 30000; k++) a = a * 0.5f + 1; if (blockIdx.x == 0 && T == 0) *f = 1; if (T == 0) while (*f == 0); __syncthreads(); y[I] = a; }
K uninit_hole ARGS { ws[T % 32 == 1 ? I - 1 : I] = 1; y[I] = ws[I]; }
