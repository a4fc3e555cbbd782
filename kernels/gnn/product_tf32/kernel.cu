#include "../parts/product_plan.cuh"
constexpr bool kThree = false;
#include "../parts/product.cuh"
