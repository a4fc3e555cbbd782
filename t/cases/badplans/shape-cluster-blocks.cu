/* hone-plan
{"launches": [{"kernel": "gemm", "grid": [4,4,4], "cluster": [4,4,4], "block": [128],
               "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (gemm): the blocks of a cluster are 64; at most 16 are allowed
