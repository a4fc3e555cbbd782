/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [4, 128]}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 0: tensor map 'tm': box[0] is 4 elements, 8 bytes; the innermost side of a box must be a multiple of 16 bytes
