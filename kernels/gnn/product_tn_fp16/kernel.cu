#include "../parts/product_tn_fp16_plan.cuh"
constexpr bool kThree = false, kHalf = true;
#include "../parts/product_tn.cuh"
