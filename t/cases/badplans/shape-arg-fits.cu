/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "M*N*K*4096"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 5: 'M*N*K*4096' is 8589934592, which does not fit a 4-byte signed integer
