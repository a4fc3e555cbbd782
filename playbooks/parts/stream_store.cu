template <class V>
struct StreamStore : UniversalCopy<V> {
    CUTE_DEVICE static void copy(const V &src, V &dst)
    {
        if constexpr (sizeof(V) == 16)
            __stcs(reinterpret_cast<uint4 *>(&dst), reinterpret_cast<const uint4 &>(src));
        else
            __stcs(&dst, src);
    }
};

namespace cute {
template <class V>
struct Copy_Traits<StreamStore<V>> : Copy_Traits<UniversalCopy<V>> {};
} // namespace cute
