/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "elem_strides": [1, 9], "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 0: tensor map 'tm': elem_strides[1] is 9; it must be 1 to 8
