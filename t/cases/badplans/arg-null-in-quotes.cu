/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "nullptr", "N"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, f32, i32
// workload: 0
// want: kernel.cu:3:40: a null pointer is written null, without quotes
