/*
 * torch_program.h - a user's own PyTorch program as a baseline: a Python file with a function
 * run().
 *
 *     struct torch_program p;
 *     if (torch_program_read("triton_softmax.py", &p, &arena, err) < 0) ...
 *     cfg.programs = (struct torch_programs){&p, 1};
 *
 * The sidecar calls run() with the task's tensors, scalars and axes, which it finds by the names of
 * the parameters. The program may use Triton, CuTe DSL or CUDA through PyTorch. Hone judges its
 * result like that of the other PyTorch baselines.
 */
#ifndef EVAL_TORCH_PROGRAM_H
#define EVAL_TORCH_PROGRAM_H

#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum { TORCH_PROGRAM_MAX = 48 << 10 }; /* bytes */

struct torch_program {
    const char *name; /* in verdicts: the file's name without folders, "triton_softmax.py" */
    const char *source;
};

/* The programs and their texts are borrowed. */
struct torch_programs {
    const struct torch_program *items;
    size_t n;
};

/* Reads a program from a file. Its texts live in the arena. Refuses a file that cannot be such a
 * program. */
int torch_program_read(const char *path, struct torch_program *out, struct arena *a,
                       struct err *err);
json_t *torch_programs_to_json(struct torch_programs p);
/* `j` may be NULL: then there are no programs. */
int torch_programs_from_json(const json_t *j, struct torch_programs *out, struct arena *a,
                             struct err *err);

#endif
