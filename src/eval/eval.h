/*
 * eval.h - evaluates one candidate, from its source to its verdict: plan, compile, emulate, run and
 * check, time, profile.
 *
 *     struct eval_config cfg = EVAL_CONFIG_INIT;
 *     struct verdict v;
 *     eval_submit(ev, task, source, len, &cfg, &ticket, err);
 *     while ((rc = eval_wait(ev, 200000000u, &done, &v, err)) == 0)
 *         ...                                        v is the verdict of `done` when rc is 1
 *
 * A candidate that fails gets a verdict too. eval_submit() and eval_wait() return -1 only if Hone
 * itself fails: for example, if there is no compiler or no space on the disk.
 */
#ifndef EVAL_EVAL_H
#define EVAL_EVAL_H

#include "base/err.h"
#include "compile/compile.h"
#include "eval/config.h"
#include "task/task.h"
#include "verdict/verdict.h"

struct evaluator; /* owns the compiler and the scheduler */

struct eval_options {
    const char *device; /* "emu", "cuda", "cuda:1"; NULL = a GPU if there is one */
    const char *on;     /* "local", "local:all", "spool:DIR", ... (--on); NULL = local */
    const char *gpu;    /* a data sheet; NULL = that of the local GPU, or "h200" if there is none */
    const char *arch;   /* NULL = the local GPU's; without a GPU, that of the data sheet */
    const char *compiler; /* "nvrtc", "nvcc"; NULL = best */
    const char *cache_dir;
};

int evaluator_open(struct evaluator **out, const struct eval_options *o, struct err *err);
void evaluator_close(struct evaluator *e);
struct eval_target {
    char arch[16]; /* o->arch, else that of the local GPU, else that of the data sheet */
    char gpu[32];  /* the built-in data sheet that Hone chose; "" if o->gpu is set */
};
/* Finds the architecture for which an evaluator with these options would compile. Also finds the
 * data sheet from which it would compute floors (the least possible times) and modelled times. */
int evaluator_target(const struct eval_options *o, struct eval_target *out, struct err *err);
/* Returns the chosen device: "emu" or "cuda". */
const char *evaluator_device(const struct evaluator *e);
/* Returns the name of the GPU that runs candidates: the name of its data sheet, or its own name if
 * Hone has no data sheet of it. For the emulator, or a GPU of another machine, returns the name of
 * the data sheet in the options. */
const char *evaluator_gpu(const struct evaluator *e, struct arena *a);

/* Starts background work that makes the compiles of this source's children (candidates derived from
 * it) faster. Call it before you submit the children. Returns the result of compile_prepare();
 * -1 = there is nothing to gain. */
int eval_prepare(struct evaluator *e, const struct task *t, const char *source, size_t len);

/* Appends in a few words what a submitted evaluation is doing; nothing if it is done or unknown. */
void eval_progress(struct evaluator *e, uint64_t ticket, struct strbuf *out);

/* Starts an evaluation and sets *ticket to its number. You can submit several evaluations and then
 * wait for any of them. One compiles while another runs. */
int eval_submit(struct evaluator *e, const struct task *t, const char *source, size_t len,
                const struct eval_config *cfg, uint64_t *ticket, struct err *err);
/* Evaluates a baseline's kernel like a candidate, waits for the verdict and returns it. The
 * evaluator owns the verdict, which may come from an earlier evaluation (baseline_verdict.h).
 * Returns NULL if Hone could not begin. */
const struct verdict *eval_baseline(struct evaluator *e, const struct task *t, const char *source,
                                    struct err *err);
/* Compiles the task's oracle for the evaluator's architecture, as for an evaluation on a GPU. If it
 * does not compile, *log becomes the compiler's messages, and the caller frees them. Otherwise *log
 * becomes NULL. Returns -1 if the compiler could not run. */
int eval_compile_oracle(struct evaluator *e, const struct task *t, char **log, struct err *err);
/* Waits until an evaluation is finished, at most timeout_ns. Returns 1 with its ticket and its
 * verdict, 0 if none is finished, -1 on an error. */
int eval_wait(struct evaluator *e, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
              struct err *err);

#endif
