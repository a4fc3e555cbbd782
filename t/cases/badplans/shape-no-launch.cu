/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "when": "M > 1000000", "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: at M=128 N=256 K=64: no launch runs: each has a "when" that is false
