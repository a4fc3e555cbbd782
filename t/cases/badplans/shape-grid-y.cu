/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "M"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 4
// want: at M=4000000 N=4 K=8: launch 0 (gemm): grid.y 'M' is 4000000; it must be 1 to 65535
