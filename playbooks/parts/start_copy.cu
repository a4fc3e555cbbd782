// Copies a vector to shared memory without waiting, if the hardware can copy so few bytes.
template <int kBytes>
__device__ void start_copy(void *to, const void *from)
{
    if constexpr (kBytes == 4 || kBytes == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(cast_smem_ptr_to_uint(to)),
                     "l"(from), "n"(kBytes));
    else if constexpr (kBytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(cast_smem_ptr_to_uint(to)),
                     "l"(from));
    else
        memcpy(to, from, kBytes);
}

__device__ void end_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}
