/*
 * slurm_spec.h - reads the text after `--on slurm:`.
 *
 *     partition=gpu,time=30,max-workers=8,prolog=module load cuda
 *
 * `prolog` takes the rest of the text. docs/scale.md lists the keys.
 */
#ifndef SCHED_SLURM_SPEC_H
#define SCHED_SLURM_SPEC_H

#include "base/arena.h"
#include "base/err.h"

struct slurm_spec {
    const char *dir;         /* directory for spools; NULL = in the user's cache directory */
    const char *prolog;      /* a line of shell; NULL = none */
    const char *options[12]; /* for sbatch, such as "--partition=gpu"; ends with NULL */
    const char *gres, *time; /* as the user gave them; NULL = default */
    unsigned most;           /* max-workers; default 8 */
    unsigned idle_s;         /* a worker without work ends after this time; default 120 */
};

/* The strings of *out live in the arena. */
int slurm_spec_read(struct slurm_spec *out, const char *text, struct arena *a, struct err *err);

#endif
