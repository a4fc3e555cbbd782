/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64], "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: kernel.cu:2:46: the box has 1 dimensions, but the tensor "A" has 2; change the box or give "dims"
