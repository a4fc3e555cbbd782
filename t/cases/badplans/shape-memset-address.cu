/* hone-plan
{"launches": [{"memset": "C", "width": 4},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 1
// want: at M=128 N=256 K=64: launch 0 (memset): the address of 'C' must be a multiple of the width, 4
