/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "(M+127)/128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:70: an operator or the end expected, found ')' (column 12 of the expression)
