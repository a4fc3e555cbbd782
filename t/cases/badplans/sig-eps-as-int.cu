/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "eps"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:3:50: launch 0 (gemm), argument 5: 'eps' is a floating-point number, but the parameter is a 4-byte signed integer
