/* hone-plan
{"launches": [{"kernel": "gemm()", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:2:26: "gemm()" is not a kernel's name: it must be extern "C", or a template instance like scale<float, 4>
