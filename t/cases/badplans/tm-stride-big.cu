/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "dims": [64, 1], "strides": ["1099511627776"], "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 0: tensor map 'tm': the stride of dimension 1 is 1099511627776; it must be a multiple of 16 bytes under 2^40
