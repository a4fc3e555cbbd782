/*
 * generate.h - writes a launch plan and kernels from a graph, for tasks that no template fits. A
 * template is the hand-written kernel of a playbook (playbook/book/book.h).
 *
 *     struct generated x = GENERATED_INIT;
 *     if (generate(&g, &templates, &x, err) == 0)
 *         ...                                  x.plan, x.kernels
 *     generated_release(&x);
 *
 * The code that writes the reference of a graph (graph/reference/) does the main steps.
 * graph_lower_for_kernel() reduces the graph to few kinds of operations. stores_plan() decides
 * which values are stored. emit_value() writes the statements for one element. A launch computes
 * one stored value, two reductions of the same rows, or up to four values or outputs that need no
 * loop. A launch that reads the result of elementwise work does this work itself, unless that would
 * repeat much work.
 *
 * An anchor is a convolution or a product of matrices. A launch that contains an anchor becomes a
 * task of its own. This task reads the inputs and stored values that the launch reads, and its
 * output is the value that the launch computes. If a template fits this task, the launches and
 * kernels of the template replace the launch.
 *
 * Stored values are in workspaces. Two values of the same size share a workspace if the first one
 * is not read any more when the second one is computed. The generated texts have the placeholders
 * @{threads}, @{items} and @{lanes} of playbooks/generate.
 */
#ifndef PLAYBOOK_GENERATE_GENERATE_H
#define PLAYBOOK_GENERATE_GENERATE_H

#include <jansson.h>

#include "base/strbuf.h"
#include "graph/graph.h"

#define GENERATED_MAX_TEXT (4u << 20) /* bytes */

struct generated {
    struct strbuf plan;                /* the launch plan, as JSON */
    struct strbuf includes, overloads; /* headers and functions for the types of the tensors */
    struct strbuf templates;           /* the kernels of templates */
    struct strbuf kernels;             /* the kernels that are written here */
};
#define GENERATED_INIT                                                         \
    {                                                                          \
        STRBUF_INIT(GENERATED_MAX_TEXT), STRBUF_INIT(4096), STRBUF_INIT(4096), \
            STRBUF_INIT(GENERATED_MAX_TEXT), STRBUF_INIT(GENERATED_MAX_TEXT)   \
    }

struct generate_templates {
    const json_t *task; /* the author facts of the whole task: say_task_json() in prompt/say.h */
    /* Writes the kernel file of the first template that fits the task. Returns false if none fits.
     * `write` is NULL if there are no templates. */
    bool (*write)(void *ctx, const json_t *task, struct strbuf *source);
    void *ctx;
};

int generate(const struct graph *g, const struct generate_templates *t, struct generated *out,
             struct err *err);
void generated_release(struct generated *x);

#endif
