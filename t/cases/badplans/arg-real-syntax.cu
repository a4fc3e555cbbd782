/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "1/sqrt(K", "N"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, f32, i32
// workload: 0
// want: kernel.cu:3:40: argument "1/sqrt(K" is neither a name nor an expression: ',' or ')' expected, but the expression ends
