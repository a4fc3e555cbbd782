/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "smem": "M*N*K", "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): smem 'M*N*K' is 2097152; it must be 0 to 232448 bytes
