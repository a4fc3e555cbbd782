/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: struct
// workload: 0
// want: kernel.cu:3:24: launch 0: kernel 'gemm' takes 1 parameter, the plan gives 6 arguments; a plan passes no structs except tensor maps and 16-bit floats; pass the members one by one
