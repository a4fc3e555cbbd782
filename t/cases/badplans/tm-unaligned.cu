/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "l2promo": "128B", "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 1
// want: at M=128 N=256 K=64: launch 0 (gemm): argument 0: tensor map 'tm': the address of 'A' is aligned to 2 bytes in this workload; a map needs 16 (use "when": "alignof(A) >= 16")
