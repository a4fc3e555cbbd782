/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "fill": "zero", "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: kernel.cu:3:84: launch 0 (gemm), argument 0: 'tm' is a tensor map, but the parameter is a pointer to const float16; it must be a 128-byte struct by value: const __grid_constant__ CUtensorMap
