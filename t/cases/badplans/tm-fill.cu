/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "fill": "one", "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: kernel.cu:2:65: unknown "one"; it must be one of: zero, nan
