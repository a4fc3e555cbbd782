#include "../parts/product_nt_plan.cuh"
constexpr bool kThree = true, kHalf = false;
#include "../parts/product_nt.cuh"
