/* hone-plan
{"workspace": {"tmp": {"bytes": "4*M*N", "init": "ones"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "tmp", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:50: unknown "ones"; it must be one of: none, zero
