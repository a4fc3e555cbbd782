/* hone-plan
{"launches": [{"memset": "C", "bytes": "4*M*N"},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 3
// want: launch 0 (memset): bytes is out of bounds, but 'C' has out of bounds bytes from the offset on
