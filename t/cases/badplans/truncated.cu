/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cd
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:60: unexpected newline near '"cd'
