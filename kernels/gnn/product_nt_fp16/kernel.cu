#include "../parts/product_nt_fp16_plan.cuh"
// Stages of the ring of rows, and columns of a block of product_wide.
constexpr int kRowStages = 4;  // hone: 3 4 5 6
constexpr int kWideCols = 128; // hone: 64 128
constexpr bool kThree = false, kHalf = true;
#include "../parts/product_nt.cuh"
