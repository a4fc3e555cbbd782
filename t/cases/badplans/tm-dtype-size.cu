/* hone-plan
{"tensormaps": {"tm": {"tensor": "A", "box": [64, 128], "dtype": "float32", "swizzle": "128B"}},
 "launches": [{"kernel": "gemm", "grid": ["cdiv(N,128)"], "block": [128], "args": ["tm", "B", "C"]}]}
*/
// sig: gemm: map, const f16*, f16*
// workload: 0
// want: kernel.cu:2:66: float32 has another size than the tensor's elements, so the map needs "dims" too
