#include "../parts/product_nt_fp16_plan.cuh"
constexpr bool kThree = false, kHalf = true;
#include "../parts/product_nt.cuh"
