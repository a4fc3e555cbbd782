/*
 * read.c - reads a PyTorch expression into a graph: parses it, checks changes in place, evaluates
 * it and adds the outputs.
 */
#include "torch/read.h"

#include <string.h>

#include "base/util.h"
#include "torch/evaluate.h"
#include "torch/in_place.h"

static bool read_object(struct graph *g, const char *text, const struct torch_names *names,
                        struct arena *mem, struct object *out, struct expression *x,
                        struct err *err)
{
    struct tree *t = torch_parse(mem, text, err);
    *x = (struct expression){.b = {.g = g, .mem = mem}, .names = names};
    if (!t || in_place_check(t, mem, err) < 0)
        return false;
    if (expression_object(x, t, out))
        return true;
    err_set(err, x->b.err.kind, "%s", x->b.err.msg);
    return false;
}

/* `o` is the result of an expression: a single value or a tuple. Sets out[i] to its values, and
 * returns how many there are. */
static int values_of(struct expression *x, const struct object *o, const struct value **out,
                     size_t max, struct err *err)
{
    const struct object *all = o->kind == OBJ_TUPLE ? o->items : o;
    size_t n = o->kind == OBJ_TUPLE ? o->n : 1;
    if (n > max)
        return err_set(err, ERR_INPUT, "the expression gives %zu values where %zu are needed", n,
                       max);
    for (size_t i = 0; i < n; i++)
        if (!(out[i] = need_value(&x->b, &all[i], "the result")))
            return err_set(err, x->b.err.kind, "%s", x->b.err.msg);
    return (int)n;
}

int torch_read_values(struct graph *g, const char *text, const struct torch_names *names,
                      const struct value **out, size_t max, struct err *err)
{
    static const struct torch_names none = {NULL, 0};
    struct arena mem = ARENA_INIT;
    struct expression x;
    struct object o;
    int n = -1;
    if (read_object(g, text, names ? names : &none, &mem, &o, &x, err))
        n = values_of(&x, &o, out, max, err);
    arena_release(&mem);
    return n;
}

/* ---- a whole task ---------------------------------------------------------------------------- */

static int shape_of(struct graph *g, const struct torch_tensor *t, const struct dim **out,
                    struct err *err)
{
    if (t->rank > GRAPH_MAX_RANK)
        return err_set(err, ERR_INPUT, "tensor '%s' has %u axes; a graph takes at most %d", t->name,
                       t->rank, GRAPH_MAX_RANK);
    for (uint32_t i = 0; i < t->rank; i++)
        if (!(out[i] = dim_parse(&g->dims, t->shape[i], err)))
            return err_prefix(err, "the shape of '%s'", t->name);
    return 0;
}

static int add_leaves(struct graph *g, const struct torch_task *t, struct err *err)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    for (size_t i = 0; t->fixed && i < t->naxes; i++)
        if (t->fixed[i] > 0)
            dim_define(&g->dims, i, dim_number(&g->dims, t->fixed[i]));
    const char **guards = arena_alloc(&g->arena, (t->nconstraints + 1) * sizeof *guards);
    g->guards = guards;
    for (size_t i = 0; i < t->nconstraints; i++)
        if (!dim_define_by(&g->dims, t->constraints[i]) &&
            dim_divide_by(&g->dims, t->constraints[i]))
            guards[g->nguards++] = arena_strdup(&g->arena, t->constraints[i]);
    for (size_t i = 0; i < t->ntensors; i++) {
        const struct torch_tensor *one = &t->tensors[i];
        /* Only inputs need their shapes here. But the graph prints each size with the first text
         * that it parsed for the size. So we also parse the shapes of outputs now: the first text
         * should be the task's. */
        if (shape_of(g, one, shape, err) < 0)
            return -1;
        if (one->input)
            graph_input(g, one->name, one->dtype, one->rank, shape);
    }
    for (size_t i = 0; i < t->nscalars; i++)
        graph_scalar(g, t->scalars[i].name, t->scalars[i].dtype);
    return 0;
}

static int add_outputs(struct graph *g, const struct torch_task *t, const struct value **values,
                       struct err *err)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    size_t n = 0;
    for (size_t i = 0; i < t->ntensors; i++) {
        const struct torch_tensor *one = &t->tensors[i];
        if (!one->output)
            continue;
        if (shape_of(g, one, shape, err) < 0)
            return -1;
        graph_add_output(g, one->name, one->dtype, one->rank, shape, values[n++]);
    }
    return 0;
}

static int read_task(struct graph *g, const char *text, const struct torch_task *t,
                     struct arena *mem, struct err *err)
{
    size_t wanted = 0;
    for (size_t i = 0; i < t->ntensors; i++)
        wanted += t->tensors[i].output;
    const struct value **values = arena_alloc(mem, (wanted + 1) * sizeof *values);
    struct expression x;
    struct object o;
    if (add_leaves(g, t, err) < 0 || !read_object(g, text, NULL, mem, &o, &x, err))
        return -1;
    if (o.kind == OBJ_TUPLE && o.n != wanted)
        return err_set(err, ERR_INPUT,
                       "the expression gives %zu values, but the task has %zu outputs", o.n,
                       wanted);
    if (o.kind != OBJ_TUPLE && wanted != 1)
        return err_set(
            err, ERR_INPUT,
            "the expression gives one value, but the task has %zu outputs: write a tuple "
            "with one item for each output",
            wanted);
    return values_of(&x, &o, values, wanted, err) < 0 ? -1 : add_outputs(g, t, values, err);
}

int torch_read(struct graph *g, const char *text, const struct torch_task *t, struct err *err)
{
    struct arena mem = ARENA_INIT;
    graph_init(g, t->axes, t->naxes);
    int rc = read_task(g, text, t, &mem, err);
    arena_release(&mem);
    if (rc < 0)
        graph_release(g);
    return rc;
}
