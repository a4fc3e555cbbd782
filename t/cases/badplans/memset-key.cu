/* hone-plan
{"launches": [{"memset": "C", "size": 3},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: kernel.cu:2:31: unknown key "size"
