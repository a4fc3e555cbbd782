/* hone-plan
{"launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)", "cdiv(M,128)"], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: other: i32
// workload: 0
// want: kernel.cu:2:26: launch 0: there is no kernel 'gemm'; declare it extern "C" __global__
