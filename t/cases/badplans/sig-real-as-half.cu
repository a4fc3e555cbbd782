/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "eps*2", "N"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, half, i32
// workload: 0
// want: kernel.cu:3:40: launch 0 (gemm), argument 3: 'eps*2' is a floating-point number, but the parameter is a struct of 2 bytes
