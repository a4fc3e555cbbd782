#include "../parts/product_nt_plan.cuh"
constexpr bool kThree = false, kHalf = false;
#include "../parts/product_nt.cuh"
