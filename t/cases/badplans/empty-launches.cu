/* hone-plan
{"launches": []}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:14: a plan needs at least one launch
