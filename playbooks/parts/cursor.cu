// Position in a ring: stage, and the parity of how often the stage was used.
template <int kRing>
struct Cursor {
    int stage = 0;
    uint32_t phase = 0;
    __device__ void next()
    {
        if (++stage == kRing) {
            stage = 0;
            phase ^= 1;
        }
    }
};
