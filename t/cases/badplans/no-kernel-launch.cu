/* hone-plan
{"launches": [{"memset": "C"}]}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: kernel.cu:2:14: a plan needs at least one launch of a kernel
