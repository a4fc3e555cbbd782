#include "../parts/product_plan.cuh"
constexpr bool kThree = false, kHalf = false;
#include "../parts/product.cuh"
