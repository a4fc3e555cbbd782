extern "C" __global__ void ldg256(const float *x, float *y, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 >= n) return;
    float a, b, c, d;
    asm volatile("ld.global.L1::no_allocate.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + i));
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4, %5};"
                 :: "l"(y + i), "f"(a), "f"(b), "f"(c), "f"(d));
}
