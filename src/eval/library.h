/*
 * library.h - describes baselines that call cuBLASLt or PyTorch.
 *
 * cuBLASLt needs a plain matrix product: class gemm, no scalars, two inputs of one dtype and one
 * output. The output is [m,n], input a is [m,k] or [k,m], and input b is [k,n] or [n,k], where m, n
 * and k are axes. A third input bias[n] is allowed if the key `torch` begins with
 * torch.relu(torch.nn.functional.linear(.
 */
#ifndef EVAL_LIBRARY_H
#define EVAL_LIBRARY_H

#include "job/job.h"
#include "job/torch_variants.h"
#include "task/task.h"

struct library_gemm {
    size_t a, b, d; /* numbers of the task's tensors */
    size_t m, n, k; /* numbers of the task's axes */
    bool ta, tb;    /* a is [k,m]; b is [n,k] */
    bool relu_bias; /* tensor 2 is the bias */
};

/* If the task is such a matrix product, describes it in *g and returns true. */
bool library_gemm_of(const struct task *t, struct library_gemm *g);
/* Returns the text that tells the worker what to call: "gemm n t float16 float16 f32 none". */
const char *library_spec(const struct task *t, const struct library_gemm *g, struct arena *a);
/* Fills in the program's only launch. The job's buffers must be the task's tensors, in order. */
void library_program(const struct library_gemm *g, const struct shape *s, struct job_program *out,
                     struct arena *a);

/* Returns the spec for the sidecar, a text with these parts: names of axes and scalars, mode,
 * precision, program (docs/worker.md). The task must have the key `torch`. The caller frees the
 * text. */
char *library_torch_spec(const struct task *t, const struct torch_variant *v);
/* Returns such a spec for a user's own program. If it has JOB_MAX_SPEC bytes, it was cut off. */
char *library_program_spec(const struct task *t, const char *source);
/* Returns such a spec for a task whose reference is in Python: its program is the reference. */
char *library_reference_spec(const struct task *t);

#endif
