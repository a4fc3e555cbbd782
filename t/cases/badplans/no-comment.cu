extern "C" __global__ void gemm() {}
const char *s = "/* no comment */";
#if 0
#endif
int x = 5;
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: no plan: the first comment must
