#include "../parts/product_nt_plan.cuh"
constexpr bool kThree = false;
#include "../parts/product_nt.cuh"
