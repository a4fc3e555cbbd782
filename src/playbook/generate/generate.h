/*
 * generate.h - writes a launch plan and kernels from a graph, for tasks that no playbook's template
 * fits.
 *
 *     struct generated x = GENERATED_INIT;
 *     if (generate(&g, &templates, &cuts, &x, err) == 0)
 *         ...                                  x.plan, x.kernels
 *     generated_release(&x);
 *
 * graph/reference/ does the main steps. graph_lower_for_kernel() reduces the graph to few kinds of
 * operations. stores_plan() decides which values to store. emit_value() writes the statements for
 * one element.
 *
 * A launch computes one stored value, two reductions of the same rows, or up to four values or
 * outputs that need no loop. It repeats cheap elementwise work of other launches instead of reading
 * the result.
 *
 * A launch with an anchor (a convolution or a product of matrices) or a recurrent layer becomes a
 * task of its own. So does a launch with only elementwise work, if the graph has few launches. If a
 * template fits this task, the template's kernels replace the launch.
 *
 * Stored values are in workspaces; values of the same size can use one workspace, one after the
 * other. The plan and the kernels contain the placeholders @{threads}, @{items} and @{lanes} of
 * playbooks/generate.
 */
#ifndef PLAYBOOK_GENERATE_GENERATE_H
#define PLAYBOOK_GENERATE_GENERATE_H

#include <jansson.h>

#include "base/strbuf.h"
#include "graph/graph.h"

#define GENERATED_MAX_TEXT (4u << 20) /* bytes */

struct generated {
    struct strbuf plan;                /* JSON */
    struct strbuf includes, overloads; /* headers and functions for the types of the tensors */
    struct strbuf templates;           /* kernels of templates */
    struct strbuf kernels;             /* generated kernels */
    bool joins;                        /* an anchor and other work share a launch of a template */
    bool has_whole;                    /* a template replaces several launches */
    unsigned keep;                     /* a set of enum lower_keep (graph/reference/lower.h) */
};
#define GENERATED_INIT                                                                        \
    {                                                                                         \
        STRBUF_INIT(GENERATED_MAX_TEXT), STRBUF_INIT(4096), STRBUF_INIT(4096),                \
            STRBUF_INIT(GENERATED_MAX_TEXT), STRBUF_INIT(GENERATED_MAX_TEXT), false, false, 0 \
    }

/* Where a graph is cut into launches (docs/playbooks.md). */
struct generate_cuts {
    bool join;  /* an anchor's launch also does the elementwise work on its result */
    bool whole; /* one template may do a norm, a softmax or the like with the work around it */
    /* Each read of a value that is not stored computes the element again. If all reads of one
     * element together would take more operations than this, the value is stored. */
    int64_t repeat;
};

struct generate_templates {
    const json_t *task; /* the author facts of the whole task */
    /* Writes the kernel file of the first template that fits, or returns false. NULL if there are
     * no templates. */
    bool (*write)(void *ctx, const json_t *task, struct strbuf *source);
    void *ctx;
};

int generate(const struct graph *g, const struct generate_templates *t,
             const struct generate_cuts *cuts, struct generated *out, struct err *err);
/* Returns how many sinks (graph/reference/stores.h) the graph has with this generated.keep and
 * generate_cuts.repeat. */
size_t generate_stored(const struct graph *g, unsigned keep, int64_t repeat);
void generated_release(struct generated *x);

#endif
