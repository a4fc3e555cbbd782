// hone-plan {}
// sig: gemm: const f16*, const f16*, f16*, i32, i32, i32
// workload: 0
// want: kernel.cu:1:4: the plan must be in the file's first comment, and that comment must have the form /* */
