/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, const f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:14: no launch can write the output 'C': pass it to a pointer that is not to const
