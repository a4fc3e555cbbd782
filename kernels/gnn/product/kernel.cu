#include "../parts/product_plan.cuh"
constexpr bool kThree = true;
#include "../parts/product.cuh"
