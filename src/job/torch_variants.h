/*
 * torch_variants.h - the ways in which Hone runs a task's PyTorch program.
 *
 *     unsigned set = 0;
 *     torch_variants_parse("max-autotune,high", &set, err);
 *     for (size_t i = 0; i < TORCH_VARIANTS; i++)
 *         if (set & 1u << i)
 *             ... torch_variants[i].name
 *
 * Most variants are baselines: Hone compares a kernel with the fastest of them. A variant that runs
 * *beside* is timed in the same rounds, but is no baseline. Authors do not see it.
 */
#ifndef JOB_TORCH_VARIANTS_H
#define JOB_TORCH_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

struct torch_variant {
    const char *name; /* in verdicts, for example "torch.compile" */
    const char *mode; /* the mode of the sidecar (src/worker/torch_sidecar.py) */
    /* True if a task can ask for this variant in its list of baselines. */
    bool by_task;
    /* The name of a variant that sets cudnn.benchmark, or NULL. If not NULL, this variant is the
     * same but leaves cudnn.benchmark off, as PyTorch does by default. If the program may use a
     * convolution, Hone times both. */
    const char *default_of;
    bool beside;           /* no kernel is compared with it */
    bool unjudged;         /* its result is not compared with the truth */
    bool by_layout;        /* it needs an input with 4 or 5 dimensions, and changes its layout */
    bool by_weights;       /* it needs inputs that are weights, and prepares them beforehand */
    unsigned first_call_s; /* limit for its first call at a shape, which compiles */
};

enum { TORCH_VARIANTS = 9 };
extern const struct torch_variant torch_variants[TORCH_VARIANTS];

/* These find a variant by its name or its mode. They return NULL if there is no such variant. */
const struct torch_variant *torch_variant_find(const char *name);
const struct torch_variant *torch_variant_of_mode(const char *mode);
/* Returns the variant whose default_of is `name`, or NULL if there is none. */
const struct torch_variant *torch_variant_default(const char *name);
/* Is this a variant that users ask for, by its mode? */
bool torch_variant_is_choice(const struct torch_variant *v);
/* Is the contender `name` a user's own PyTorch program? Such a contender is named after its file,
 * FILE.py. */
bool contender_is_program(const char *name);
/* Is the contender `name` a PyTorch program with which kernels are compared? */
bool baseline_is_torch(const char *name);
bool contender_is_beside(const char *name);

/* Reads modes separated by commas, or `all`. Sets bit i of *out for torch_variants[i]. */
int torch_variants_parse(const char *list, unsigned *out, struct err *err);
/* Appends the modes of a set, for torch_variants_parse(). */
void torch_variants_text(unsigned set, struct strbuf *out);

#endif
