// 32 bytes at once: an access of sm_100. ptxas names a line of the PTX.
template <class T> __device__ __forceinline__ void load32(T (&v)[4], const T *p)
{
    asm volatile("ld.global.v4.u64 {%0, %1, %2, %3}, [%4];"
                 : "=l"(v[0]), "=l"(v[1]), "=l"(v[2]), "=l"(v[3])
                 : "l"(p));
}
extern "C" __global__ void k(const unsigned long long *a, unsigned long long *b)
{
    unsigned long long v[4];
    load32(v, a + threadIdx.x * 4);
    b[threadIdx.x] = v[0] + v[1] + v[2] + v[3];
}
