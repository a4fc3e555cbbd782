/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [8,1,1,1,1,1], "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: kernel.cu:2:46: a tensor map has 1 to 5 dimensions, not 6
