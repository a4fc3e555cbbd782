/* NVRTC has size_t and ptrdiff_t built in. They are also put into std here, because code written
 * for nvcc uses std::size_t without an include. */
#pragma once
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) \
    ((size_t) & reinterpret_cast<const volatile char &>(((type *)0)->member))
#endif
namespace std {
using ::size_t;
using ::ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
}
