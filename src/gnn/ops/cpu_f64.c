/* The operations of the CPU in double, for tests of gradients. */
#define REAL double
#define REAL_GEMM dgemm
#define REAL_EXP exp
#define REAL_SQRT sqrt
#define CPU_OPS cpu_ops_f64
#include "gnn/ops/cpu_ops.inc"
