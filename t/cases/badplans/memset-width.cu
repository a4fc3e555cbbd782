/* hone-plan
{"launches": [{"memset": "C", "width": 3},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: kernel.cu:2:40: the width of a memset is 1, 2 or 4 bytes
