/*
 * library.h - describes baselines that call cuBLASLt or PyTorch. For cuBLASLt it recognises a task
 * that is a plain matrix product, and describes the call that computes it (src/device/cuda_lib.c
 * makes this call).
 *
 * The task must be of class gemm, without scalars, with two inputs of one dtype and one output. All
 * three must be matrices whose extents are axes: the output is [m,n], input a is [m,k] or [k,m],
 * and input b is [k,n] or [n,k]. One further form is recognised: a third input bias[n], in a task
 * whose key `torch` begins with torch.relu(torch.nn.functional.linear(.
 */
#ifndef EVAL_LIBRARY_H
#define EVAL_LIBRARY_H

#include "job/job.h"
#include "job/torch_variants.h"
#include "task/task.h"

struct library_gemm {
    size_t a, b, d; /* indices of the task's tensors */
    size_t m, n, k; /* indices of the task's axes */
    bool ta, tb;    /* a is stored as [k,m]; b is stored as [n,k] */
    bool relu_bias; /* tensor 2 is the bias */
};

/* Returns whether the task is a matrix product as described above. If so, describes it in *g. */
bool library_gemm_of(const struct task *t, struct library_gemm *g);
/* Returns the spec of the module (the text that tells the worker what to call): "gemm n t float16
 * float16 f32 none". */
const char *library_spec(const struct task *t, const struct library_gemm *g, struct arena *a);
/* Fills in the program's only launch at this shape. The job must have the task's tensors as its
 * buffers, in their order. */
void library_program(const struct library_gemm *g, const struct shape *s, struct job_program *out,
                     struct arena *a);

/* Returns the spec for the PyTorch sidecar (the Python process that runs PyTorch baselines): names
 * of axes and scalars, mode, precision, program; see docs/worker.md. The task must have the key
 * `torch`. The caller frees the text. */
char *library_torch_spec(const struct task *t, const struct torch_variant *v);
/* Does the same as library_torch_spec() for a task whose reference is in Python. The program in the
 * spec is this reference. The caller frees the text. */
char *library_reference_spec(const struct task *t);

#endif
