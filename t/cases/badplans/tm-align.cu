/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "interleave": "none", "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map16, const f16*, f16*
// workload: 0
// want: kernel.cu:3:84: launch 0 (gemm), argument 0: 'tm' is a tensor map: its parameter must be aligned to 64 bytes, not 16
