/* hone-plan
{"launches": [{"memset": "M"},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: kernel.cu:2:26: "M" is neither a tensor nor a workspace
