/* hone-plan
{"launches": [{"memset": "Q"},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: kernel.cu:2:26: no tensor, axis, scalar, workspace or tensor map "Q"
