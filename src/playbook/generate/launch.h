/*
 * launch.h - writes the kernels of one launch, and its entry in the plan (generate.h).
 *
 *     struct launch l = {.sinks = s, .n = 1, .map = MAP_THREADS, .vector_when = ""};
 *     if (launch_write(&w, &l) < 0) ...
 *
 * A launch may have a second kernel whose threads read and write vectors
 * (graph/reference/vector.h). The plan uses this kernel where all sizes and addresses allow it.
 */
#ifndef PLAYBOOK_GENERATE_LAUNCH_H
#define PLAYBOOK_GENERATE_LAUNCH_H

#include "graph/reference/stores.h"
#include "playbook/generate/params.h"
#include "playbook/generate/part.h"

#define LAUNCH_MAX_TEXT (4u << 20) /* bytes */

/* How units are mapped to threads (generate.c). */
enum mapping { MAP_THREADS, MAP_LANES, MAP_BLOCK };

struct generated;
struct generate_templates;

/* The state that all launches of a plan share. */
struct writer {
    struct generated *out;
    struct strbuf *plan, *kernels_text; /* `plan` and `kernels` of `out` */
    struct graph *g;
    struct emit emit;
    struct stores stores;
    struct params params;
    struct arena arena;
    unsigned kernels;
    bool *done; /* per sink: it needs no launch of its own any more */
    /* Per sink: if one template computes it and the values that only it needs, `stores` without
     * these values. Else `store` is NULL. */
    struct stores *wholes;
    const struct generate_templates *templates;
    const struct generate_cuts *cuts;
    struct strbuf workspaces, tensormaps;
    struct part_code_vec codes;
    bool backward;           /* launch.backward of the last generated launch */
    unsigned keep, unserved; /* of generated.keep: what is kept; what no template computes */
    struct err *err;
};

struct launch {
    const struct sink *sinks;
    /* `n` counts the sinks. `last` is the index of the last of them in writer.stores.sinks, but a
     * sink that rides does not count for `last`. */
    size_t n, last;
    bool rides; /* there are two sinks; the launch computes the second right after the first */
    enum mapping map;
    const char *lanes;
    bool contiguous;
    const char *name;
    /* `vector` is how many elements a thread reads or writes at once, or 0. `vector_when` is the
     * condition under which it can. The same launch without vectors serves all other sizes and
     * addresses. */
    int64_t vector;
    const char *vector_when;
    bool tail;     /* the last vector may be cut off */
    bool backward; /* the first blocks compute the last units */
};

/* Returns the length of a sink's loop, or NULL if lanes cannot share it. *loop becomes the
 * reduction or product. */
const struct dim *launch_loop(struct writer *w, const struct sink *s, const struct value **loop);
int launch_write(struct writer *w, struct launch *l);

#endif
