#include "../parts/product_tn_fp16_plan.cuh"
// Stages of the ring of product_sum, and how many pieces the tensor cores add up before registers take their sum.
constexpr int kSumStages = 4; // hone: 3 4 5
constexpr int kTogether = 4;  // hone: 1 2 4 8
constexpr bool kThree = false, kHalf = true;
#include "../parts/product_tn.cuh"
