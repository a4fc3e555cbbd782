/* hone-plan
{"workspace": {"tmp": {"bytes": "M*N*K*N*N*N", "init": "none"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "tmp", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, f32*, i32, i32
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 3: workspace 'tmp': bytes 'M*N*K*N*N*N' is 35184372088832; it must be 0 to 68719476736
