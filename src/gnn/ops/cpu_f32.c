/* The operations of the CPU in float. */
#define REAL float
#define REAL_GEMM sgemm
#define REAL_EXP expf
#define REAL_SQRT sqrtf
#define CPU_OPS cpu_ops_f32
#include "gnn/ops/cpu_ops.inc"
