#include "../parts/product_fp16_plan.cuh"
constexpr bool kThree = false, kHalf = true;
#include "../parts/product.cuh"
