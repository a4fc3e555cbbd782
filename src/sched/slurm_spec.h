/*
 * slurm_spec.h - reads the text after `--on slurm:`.
 *
 *     partition=gpu,time=30,max-workers=8,prolog=module load cuda
 *
 * `prolog` comes last, because its value is the rest of the text. docs/scale.md lists the keys.
 */
#ifndef SCHED_SLURM_SPEC_H
#define SCHED_SLURM_SPEC_H

#include "base/arena.h"
#include "base/err.h"

struct slurm_spec {
    const char *dir;         /* directory of the spools; NULL = in the user's cache directory */
    const char *prolog;      /* a line of shell; NULL = none */
    const char *options[12]; /* options of sbatch: "--partition=gpu"; NULL-terminated */
    const char *gres, *time; /* as given; NULL = default */
    unsigned most;           /* max-workers; 8 by default */
    unsigned idle_s;         /* a worker ends after this time without work; 120 by default */
};

/* The strings of *out live in the arena. */
int slurm_spec_read(struct slurm_spec *out, const char *text, struct arena *a, struct err *err);

#endif
