/*
 * eval.h - evaluates one candidate, from its source to its verdict.
 *
 *     struct eval_config cfg = EVAL_CONFIG_INIT;
 *     struct verdict v;
 *     eval_submit(ev, task, source, len, &cfg, &ticket, err);
 *     while ((rc = eval_wait(ev, 200000000u, &done, &v, err)) == 0)
 *         ...                                        v is the verdict of `done` when rc is 1
 *
 * A candidate that fails gets a verdict too. eval_submit() and eval_wait() return -1 only if Hone
 * itself fails.
 */
#ifndef EVAL_EVAL_H
#define EVAL_EVAL_H

#include "base/err.h"
#include "compile/compile.h"
#include "eval/config.h"
#include "task/task.h"
#include "verdict/verdict.h"

struct evaluator;

struct eval_options {
    const char *device;   /* "emu", "cuda", "cuda:1"; NULL = a GPU if there is one */
    const char *on;       /* "local", "local:all", "spool:DIR"; NULL = local */
    const char *gpu;      /* data sheet; NULL = the local GPU's, or else "h200" */
    const char *arch;     /* NULL = the local GPU's, or else the data sheet's */
    const char *compiler; /* "nvrtc", "nvcc"; NULL = best */
    const char *cache_dir;
};

int evaluator_open(struct evaluator **out, const struct eval_options *o, struct err *err);
void evaluator_close(struct evaluator *e);
struct eval_target {
    char arch[16];
    char gpu[32]; /* chosen data sheet; "" if o->gpu is set */
};
/* Finds the architecture for which an evaluator with these options would compile, and the data
 * sheet for its modelled times. */
int evaluator_target(const struct eval_options *o, struct eval_target *out, struct err *err);
const char *evaluator_device(const struct evaluator *e);
/* Returns the name of the GPU that runs candidates: the name of its data sheet or, if Hone has no
 * data sheet for it, the GPU's own name. For the emulator or a GPU of another machine, returns the
 * name of the data sheet in use. */
const char *evaluator_gpu(const struct evaluator *e, struct arena *a);

/* Call it before you submit candidates derived from this source: it makes their compiles faster.
 * Returns the result of compile_prepare(), or -1 if there is nothing to gain. */
int eval_prepare(struct evaluator *e, const struct task *t, const char *source, size_t len);

/* Appends to `out`, in a few words, what an evaluation is doing. */
void eval_progress(struct evaluator *e, uint64_t ticket, struct strbuf *out);

int eval_submit(struct evaluator *e, const struct task *t, const char *source, size_t len,
                const struct eval_config *cfg, uint64_t *ticket, struct err *err);
/* Evaluates a baseline's kernel like a candidate, or finds an earlier verdict (baseline_verdict.h).
 * The evaluator owns the verdict. Returns NULL if Hone itself fails. */
const struct verdict *eval_baseline(struct evaluator *e, const struct task *t, const char *source,
                                    struct err *err);
/* Compiles the task's oracle for the GPU, to see whether it compiles. *log becomes NULL if it does,
 * and otherwise the compiler's messages; the caller frees *log. Returns -1 if the compiler could
 * not run. */
int eval_compile_oracle(struct evaluator *e, const struct task *t, char **log, struct err *err);
/* Returns 1 with a ticket and its verdict, 0 if no evaluation is finished within timeout_ns, -1 on
 * an error. */
int eval_wait(struct evaluator *e, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
              struct err *err);

#endif
