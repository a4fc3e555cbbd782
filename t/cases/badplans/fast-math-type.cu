/* hone-plan
{"fast_math": "yes",
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:15: expected true or false, found a string
