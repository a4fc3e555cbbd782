/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "pow(10, M)", "N"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, f32, i32
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 3: 'pow(10, M)' is larger than the largest float
