/* hone-plan
{"launches": [{"kernel": "gemm", "grid": [], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:42: grid has 0 dimensions; it must have 1 to 3
