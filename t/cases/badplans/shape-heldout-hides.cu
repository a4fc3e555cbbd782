/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "M*1000"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 3
// want: launch 0 (gemm): grid.y 'M*1000' is out of bounds; it must be 1 to 65535
