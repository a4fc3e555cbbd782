#include "../parts/product_nt_plan.cuh"
constexpr bool kThree = true;
#include "../parts/product_nt.cuh"
