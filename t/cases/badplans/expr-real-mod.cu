/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "eps % 2", "N"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, f32, i32
// workload: 0
// want: kernel.cu:3:40: argument "eps % 2" is neither a name nor an expression: % takes integers, but an operand is a real number (column 5 of the expression)
