/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "swizzle": "256B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: kernel.cu:2:68: unknown "256B"; it must be one of: none, 32B, 64B, 128B
