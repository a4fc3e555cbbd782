/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "cluster": [3], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): grid.x is 2, not a multiple of cluster.x, which is 3
