/* hone-plan
{"workspace": {"p": {"bytes": "4*M*N"}}, "tensormaps": {"tm": {"tensor": "p", "box": [64, 128]}},
 "launches": [{"kernel": "gemm", "grid": [1], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: kernel.cu:2:63: a map of a workspace needs "dtype"
