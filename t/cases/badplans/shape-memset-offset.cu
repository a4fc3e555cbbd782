/* hone-plan
{"launches": [{"memset": "C", "offset": "0-1"},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (memset): the offset in 'C' is -1; it must be 0 to 65536
