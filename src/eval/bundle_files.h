/*
 * bundle_files.h - collects the files of a bundle other than the candidate: baselines, the oracle
 * and the service code.
 *
 * These baselines are left out:
 * - Baselines that Hone cannot make for the task. For example, PyTorch needs a task with a PyTorch
 *   form, and a library needs a plain matrix product. `notes` names these baselines and says why.
 * - Baselines whose kernel is wrong or does not compile, and all baselines that failed in an
 *   earlier job of this evaluation. `rejected` lists them.
 * - On the emulator, baselines that run PyTorch or a library.
 */
#ifndef EVAL_BUNDLE_FILES_H
#define EVAL_BUNDLE_FILES_H

#include "base/vec.h"
#include "compile/compile.h"
#include "eval/cases.h"
#include "eval/config.h"
#include "eval/library.h"
#include "eval/pack.h"
#include "verdict/verdict.h"

struct baseline {
    char *name;
    enum job_module_kind kind;
    /* only for kernels */
    char *source;
    struct plan *plan;
    struct compiled code;
    bool have_code;
    /* spec: for PyTorch and libraries; gemm: only for libraries */
    char *spec;
    struct library_gemm gemm;
};

struct judged_baseline {
    const char *name, *source;
    const struct verdict *verdict;
};

struct rejected_baseline {
    char *name, *text;
    bool failed; /* true: it could not run; false: its result is wrong */
};
VEC_DECL(rejected_baseline_vec, struct rejected_baseline);
void rejected_baselines_release(struct rejected_baseline_vec *v);

struct bundle_files {
    struct baseline *items;
    size_t n;
    struct rejected_baseline_vec rejected;
    const char *oracle, *service; /* file names in the bundle, or "" */
    VEC(char *) notes;
};

struct bundle_files_request {
    const struct task *task;
    const struct eval_config *cfg;
    const char *source; /* the candidate; "naive" is left out if it has the same text */
    const struct judged_baseline *judged;
    size_t njudged;
    /* Baselines that failed in an earlier job, or NULL. */
    const struct rejected_baseline_vec *broken;
    struct compiler *compiler;
    const char *arch;
    /* emu: the bundle is for the emulator; baselines: add them */
    bool emu, baselines;
};

/* Returns the names of the plan's kernels, each once. */
const char **kernels_of_plan(const struct plan *p, size_t *n, struct arena *a);
struct kernel_baseline {
    const char *name, *source;
};
/* Lists the baselines with a kernel that the request wants. Sets *out to the list, which is in the
 * arena `a`, and returns its length. Leaves out unreadable files; bundle_files_gather() reports
 * them. */
size_t bundle_files_kernels(const struct bundle_files_request *rq, struct kernel_baseline **out,
                            struct arena *a);
/* Compiles trusted device code. `file` is the name that the cubin has in a bundle. out->ok is false
 * if the source has errors. The caller releases *out. */
int bundle_files_compile(const struct bundle_files_request *rq, const char *file,
                         const char *source, struct compiled *out, struct err *err);
/* Writes the service code for rq->arch to dir/service.cubin. */
int bundle_files_service(const struct bundle_files_request *rq, const char *dir, struct err *err);
/* Adds the baselines to p, but not the oracle and the service code. */
int bundle_files_baselines(struct bundle_files *p, const struct bundle_files_request *rq,
                           struct err *err);
/* Fills p, and writes the oracle and the service code to bundle_dir. */
int bundle_files_gather(struct bundle_files *p, const struct bundle_files_request *rq,
                        const char *bundle_dir, struct err *err);
/* Describes baseline i as a contender (cases.h) and as a module of the bundle. */
void bundle_files_contender(const struct bundle_files *p, size_t i, struct contender *who,
                            struct pack_module *file);
void bundle_files_release(struct bundle_files *p);

#endif
