/* hone-plan
{"launches":[{"kernel":"k","grid":[1],"block":[32],"args":["y"]}]}
*/
/* Names that public kernels take from standard headers. NVRTC has none of these headers. */
#include <algorithm>
#include <array>
#include <assert.h>
#include <cassert>
#include <cfloat>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <float.h>
#include <inttypes.h>
#include <iomanip>
#include <iostream>
#include <limits.h>
#include <limits>
#include <map>
#include <math.h>
#include <memory>
#include <random>
#include <sstream>
#include <stddef.h>
#include <stdexcept>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(FLT_MAX == 340282346638528859811704183484516925440.f, "");
static_assert(FLT_MIN == 1.17549435082228750797e-38f && FLT_EPSILON == 1.f / 8388608, "");
static_assert(DBL_EPSILON == 1. / 4503599627370496 && DBL_MAX > 1.797e308 && DBL_MIN > 0, "");
static_assert(FLT_TRUE_MIN > 0 && FLT_DIG == 6 && FLT_MANT_DIG == 24 && DBL_MANT_DIG == 53, "");
static_assert(FLT_MAX == std::numeric_limits<float>::max(), "");
static_assert(DBL_MAX == std::numeric_limits<double>::max(), "");
static_assert(CHAR_BIT == 8 && INT_MAX == 2147483647 && UINT_MAX == 4294967295u, "");
static_assert(LONG_MAX == 9223372036854775807 && ULLONG_MAX == ~0ull && SHRT_MIN == -32768, "");
static_assert(SIZE_MAX == ~size_t(0) && PTRDIFF_MAX > 0 && UINT64_MAX == UINT64_C(0) - 1, "");
static_assert(sizeof(std::uint16_t) == 2 && sizeof(uint_fast64_t) == 8 && INT8_MIN == -128, "");
static_assert(sizeof(std::size_t) == 8 && sizeof(std::ptrdiff_t) == 8, "");
static_assert(std::is_same<std::remove_const<const int>::type, int>::value, "");
struct two {
    int a, b;
};

extern "C" __global__ void k(float *y)
{
    using namespace std;
    assert(y != NULL);
    float v = std::sqrt(2.f) + std::exp(y[1]) + std::fabs(-1.f) + std::abs(-2) + std::abs(-2.5f);
    v += std::isnan(v) + std::isinf(v) + std::isfinite(v) + std::signbit(v) + isnan(v);
    v += std::fmax(v, 1.f) + std::atan2(v, 2.f) + std::log1p(v) + std::lround(v) + sqrtf(v);
    v += std::min(v, 3.f) + std::max(1, 2) + max(v, FLT_MIN) + offsetof(two, b);
    v += float(M_PI) + float(M_E) + float(M_PI_2) + float(M_SQRT1_2) + float(HUGE_VAL) + NAN;
    v = v < INFINITY ? v : std::numeric_limits<float>::lowest();
    std::memset(y + 2, 0, sizeof *y);
    memcpy(y + 1, &v, sizeof v);
    if (v > 1e30f)
        printf("%" PRIu64 "\n", uint64_t(strlen("abc")));
    std::array<float, 2> a = {v, 1};
    auto t = std::make_tuple(a[0], 2);
    y[0] = std::get<0>(t) + std::get<1>(t);
    std::swap(y[3], y[4]);
}
