/* hone-plan
{"launches": [{"kernel": "scale<float>; int x", "grid": 1, "block": 32, "args": ["A", "B", "C"]}]}
*/
// sig: gemm: const f16*, const f16*, f16*
// workload: 0
// want: kernel.cu:2:26: "scale<float>; int x" is not a kernel's name: it must be extern "C", or a template instance like scale<float, 4>
