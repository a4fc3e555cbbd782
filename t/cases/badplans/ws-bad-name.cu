/* hone-plan
{"workspace": {"9tmp": {"bytes": "4*M*N", "init": "none"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:16: "9tmp" is not a name: at most 64 letters, digits and _, not beginning with a digit
