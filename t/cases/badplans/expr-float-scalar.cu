/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "M*eps"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:61: unknown name 'eps'; known here: M, N, K, g (column 3 of the expression)
