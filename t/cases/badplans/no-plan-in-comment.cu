/* just words */
int x;
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: no plan: the first comment must
