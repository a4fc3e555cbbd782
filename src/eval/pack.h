/*
 * pack.h - writes a bundle: a directory with job.bin and all files it names.
 *
 *     cand.cubin cand.ptx cand.cu     the candidate (module 0)
 *     base.N.cubin, .ptx, .cu         kernel baselines (module N)
 *     oracle.so                       emulator: the compiled reference
 *     oracle.cubin                    GPU: the same; loaded after the candidate ran
 *     oracle.torch                    instead of these two, if the task's reference is in Python
 *     service.cubin                   GPU: Hone's own device code
 *     job.bin                         written last, so a bundle that has it is complete
 */
#ifndef EVAL_PACK_H
#define EVAL_PACK_H

#include "compile/compile.h"
#include "job/job.h"

struct pack_module {
    const struct compiled *code; /* NULL for torch and library modules */
    const char *source;          /* findings of the sanitizer quote its lines; may be NULL */
    const char *spec;            /* torch program or library call; NULL for kernels */
};

/* Writes the files of all kernel modules, and job.bin, to `dir`. Sets the names of these files in
 * job->modules. job->cases must be complete. */
int pack_write(const char *dir, struct job *job, const struct pack_module *parts, struct arena *a,
               struct err *err);
int pack_add(const char *dir, const char *name, const void *data, size_t len, struct err *err);

#endif
