// WGMMA by CuTe's wrappers of the instructions, with descriptors made by hand. CuTe's layouts could make them
// too, but compiling these layouts takes many seconds.

// The descriptor of an operand that lies in shared memory in rows of 128 bytes, 8 of them in 1024 bytes, with
// TMA's swizzle of 128 bytes. If a row runs along K, a step of K begins 32 bytes later. If a row runs along
// the other axis, 16 elements of K are 16 rows, and the next 64 columns begin `apart` bytes later.
__device__ uint64_t swizzled_operand(const void *at, int apart = 16)
{
    return uint64_t(1 << 30 | 64) << 32 | uint32_t(apart / 16) << 16 | cast_smem_ptr_to_uint(at) >> 4;
}

// Returns the operand that lies so many bytes behind.
__device__ uint64_t operand_behind(uint64_t operand, int bytes)
{
    uint32_t place = uint32_t(operand) + bytes / 16; // never carries
    return operand >> 32 << 32 | place;
}

// Begins the product of operands, and adds it to some of a thread's sums.
template <class Op, int... kI, class... Operand>
__device__ __forceinline__ void begin_product(float *sums, GMMA::ScaleOut scale,
                                              cute::integer_sequence<int, kI...>, const Operand &...operand)
{
    Op::fma(operand..., sums[kI]..., scale);
}

// Until its products are complete, the compiler must not move what it does with registers.
template <class R, int kSize>
__device__ __forceinline__ void fence_registers(R (&registers)[kSize])
{
    CUTE_UNROLL
    for (int i = 0; i < kSize; i++)
        warpgroup_fence_operand(registers[i]);
}
