/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [128, 128], "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 0: tensor map 'tm': box[0] is 256 bytes, more than the 128 that swizzle "128B" allows
