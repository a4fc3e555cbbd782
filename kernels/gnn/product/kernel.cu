#include "../parts/product_plan.cuh"
constexpr bool kThree = true, kHalf = false;
#include "../parts/product.cuh"
