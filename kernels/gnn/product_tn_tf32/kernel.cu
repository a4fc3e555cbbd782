#include "../parts/product_tn_plan.cuh"
// Stages of the ring of product_sum, and how many pieces the tensor cores add up before registers take their sum.
constexpr int kSumStages = 4; // hone: 2 3 4
constexpr int kTogether = 4;  // hone: 1 2 4 8
constexpr bool kThree = false, kHalf = false;
#include "../parts/product_tn.cuh"
