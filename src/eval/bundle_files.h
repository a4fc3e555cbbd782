/*
 * bundle_files.h - collects the files of a bundle beside the candidate: baselines, oracle, service
 * code.
 *
 * Each is compiled once; later evaluations find it in the compile cache. A baseline that cannot be
 * built is left out with a note. If no library baseline is left, the verdict says so.
 */
#ifndef EVAL_BUNDLE_FILES_H
#define EVAL_BUNDLE_FILES_H

#include "base/vec.h"
#include "compile/compile.h"
#include "eval/cases.h"
#include "eval/config.h"
#include "eval/library.h"
#include "eval/pack.h"

struct part {
    char *name;
    enum job_module_kind kind;
    char *source;
    struct plan *plan;
    struct compiled code;
    bool have_code;
    char *spec;
    struct library_gemm gemm;
};

struct parts {
    struct part *items;
    size_t n;
    const char *oracle, *service; /* file names in the bundle; "" = none */
    VEC(char *) notes;
};

struct parts_request {
    const struct task *task;
    const struct eval_config *cfg;
    const char *source; /* the candidate's text: a baseline with the same text is left out */
    struct compiler *compiler;
    const char *arch;
    bool emu, baselines;
};

/* The names of the plan's kernels, without repetition. */
const char **parts_kernels(const struct plan *p, size_t *n, struct arena *a);
/* Compiles Hone's service code for rq->arch into dir/service.cubin. */
int parts_service(const struct parts_request *rq, const char *dir, struct err *err);
/* Adds only the baselines to p. */
int parts_baselines(struct parts *p, const struct parts_request *rq, struct err *err);
int parts_gather(struct parts *p, const struct parts_request *rq, const char *bundle_dir,
                 struct err *err);
void parts_contender(const struct parts *p, size_t i, struct contender *who,
                     struct pack_part *file);
void parts_release(struct parts *p);

#endif
