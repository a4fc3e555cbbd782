/* hone-plan
{"tensormaps": {"tm": {"tensor": "idx", "box": [64], "fill": "nan"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: kernel.cu:2:62: a map of int32 cannot be filled with NaN
