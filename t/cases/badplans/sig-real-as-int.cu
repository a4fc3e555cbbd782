/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", 0.5, "1/sqrt(K)"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, f32, i32
// workload: 0
// want: kernel.cu:3:45: launch 0 (gemm), argument 4: '1/sqrt(K)' is a floating-point number, but the parameter is a 4-byte signed integer
