#include "../parts/product_tn_plan.cuh"
// Stages of the ring of product_sum, and how many pieces the tensor cores add up before registers take their sum.
constexpr int kSumStages = 3; // hone: 2 3
constexpr int kTogether = 1;
constexpr bool kThree = true, kHalf = false;
#include "../parts/product_tn.cuh"
