/* hone-plan
{"launches": [{"copy": "A", "to": "ws"},
              {"kernel": "gemm", "grid": 1, "block": 32, "args": ["A", "B", "C"]}],
 "workspace": {"ws": {"bytes": "4*M"}}}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: at M=128 N=256 K=64: launch 0 (copy): it copies 16384 bytes, but 'ws' has 512 from the offset on
