template <class V>
struct StreamLoad : UniversalCopy<V> {
    CUTE_DEVICE static void copy(const V &src, V &dst)
    {
        if constexpr (sizeof(V) == 16)
            reinterpret_cast<uint4 &>(dst) = __ldcs(reinterpret_cast<const uint4 *>(&src));
        else
            dst = __ldcs(&src);
    }
};

namespace cute {
template <class V>
struct Copy_Traits<StreamLoad<V>> : Copy_Traits<UniversalCopy<V>> {};
} // namespace cute
