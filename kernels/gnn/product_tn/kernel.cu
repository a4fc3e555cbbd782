#include "../parts/product_tn_plan.cuh"
constexpr bool kThree = true;
#include "../parts/product_tn.cuh"
