/* hone-plan
{"launches": [{"memset": "C", "value": 300},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (memset): value is 300, which does not fit 1 byte
