/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["idx", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f32*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:3:25: launch 0 (gemm), argument 0: 'idx' is a tensor of int32, but the parameter is a pointer to const float32: floats where the tensor holds integers
