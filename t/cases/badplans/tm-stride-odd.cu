/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "fill": "nan", "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 2
// want: at M=5 N=3 K=1: launch 0 (gemm): argument 0: tensor map 'tm': the stride of dimension 1 is 2; it must be a multiple of 16 bytes under 2^40
