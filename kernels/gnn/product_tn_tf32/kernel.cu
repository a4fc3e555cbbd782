#include "../parts/product_tn_plan.cuh"
constexpr bool kThree = false, kHalf = false;
#include "../parts/product_tn.cuh"
