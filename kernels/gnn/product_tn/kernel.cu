#include "../parts/product_tn_plan.cuh"
constexpr bool kThree = true, kHalf = false;
#include "../parts/product_tn.cuh"
