/*
 * task.c - reads the graph of a task from its key "graph" or "torch", and compares it with the
 * task's tensors.
 */
#include "torch/task.h"

#include <string.h>

#include "base/util.h"
#include "graph/json.h"
#include "torch/read.h"

static struct torch_tensor tensor_of(const struct task_tensor *x)
{
    struct torch_tensor t = {.name = x->name,
                             .dtype = x->dtype,
                             .rank = x->rank,
                             .input = x->is_input,
                             .output = x->is_output};
    for (uint32_t d = 0; d < x->rank; d++)
        t.shape[d] = expr_text(x->shape[d]);
    return t;
}

/* Describes the task's tensors, axes and scalars for torch_read(). t->names holds the axes first,
 * then the integer scalars. */
static struct torch_task signature_of(const struct task *t, struct arena *a)
{
    int64_t *fixed = arena_alloc(a, (t->names.n + 1) * sizeof *fixed);
    struct torch_tensor *tensors = arena_alloc(a, (t->tensors.n + 1) * sizeof *tensors);
    struct torch_scalar *scalars = arena_alloc(a, (t->scalars.n + 1) * sizeof *scalars);
    for (size_t i = 0; i < t->axes.n; i++)
        fixed[i] = t->axes.items[i].is_const ? t->axes.items[i].value : 0;
    for (size_t i = 0; i < t->tensors.n; i++)
        tensors[i] = tensor_of(&t->tensors.items[i]);
    for (size_t i = 0; i < t->scalars.n; i++)
        scalars[i] = (struct torch_scalar){.name = t->scalars.items[i].name,
                                           .dtype = t->scalars.items[i].dtype};
    return (struct torch_task){.axes = t->names.items,
                               .fixed = fixed,
                               .naxes = t->names.n,
                               .tensors = tensors,
                               .ntensors = t->tensors.n,
                               .scalars = scalars,
                               .nscalars = t->scalars.n,
                               .constraints = t->constraints.items,
                               .nconstraints = t->constraints.n};
}

/* ---- the key "graph" ------------------------------------------------------------------------- */

/* Returns whether the graph gives the tensor the dtype and the shape that the task declares. */
static bool same_type(struct graph *g, const struct task_tensor *x, enum dtype dtype, uint32_t rank,
                      const struct dim *const *shape)
{
    bool same = x->dtype == dtype && x->rank == rank;
    for (uint32_t d = 0; same && d < rank; d++) {
        const struct dim *declared = dim_parse(&g->dims, expr_text(x->shape[d]), NULL);
        same = declared && dim_same(declared, shape[d]);
    }
    return same;
}

static const struct graph_output *find_output(const struct graph *g, const char *name)
{
    vec_each (const struct graph_output, o, &g->outputs)
        if (str_eq(o->name, name))
            return o;
    return NULL;
}

static int compare_tensors(struct graph *g, const struct task *t, struct err *err)
{
    size_t inputs = 0, outputs = 0;
    vec_each (const struct task_tensor, x, &t->tensors) {
        const struct value *v = x->is_input ? graph_find(g, x->name) : NULL;
        const struct graph_output *o = x->is_output ? find_output(g, x->name) : NULL;
        if ((x->is_input && !v) || (x->is_output && !o))
            return err_set(err, ERR_INPUT, "the graph has no %s '%s'",
                           v || !x->is_input ? "output" : "input", x->name);
        if ((v && !same_type(g, x, v->dtype, v->rank, v->shape)) ||
            (o && !same_type(g, x, o->dtype, o->rank, o->shape)))
            return err_set(err, ERR_INPUT, "'%s' has another dtype or shape than in the task",
                           x->name);
        inputs += x->is_input;
        outputs += x->is_output;
    }
    if (inputs != g->inputs.n || outputs != g->outputs.n)
        return err_set(err, ERR_INPUT,
                       "the graph has %zu inputs and %zu outputs, but the task has %zu and %zu",
                       g->inputs.n, g->outputs.n, inputs, outputs);
    return 0;
}

static int read_graph(struct graph *g, const struct task *t, struct err *err)
{
    json_error_t why;
    json_t *j = json_loads(t->graph_json, 0, &why);
    int rc = j ? graph_from_json(g, j, err) : err_set(err, ERR_INPUT, "%s", why.text);
    json_decref(j);
    if (rc == 0 && compare_tensors(g, t, err) < 0) {
        graph_release(g);
        rc = -1;
    }
    return rc < 0 ? err_prefix(err, "task '%s', its graph", t->name) : 0;
}

/* ---- the key "torch" ------------------------------------------------------------------------- */

static int read_expression(struct graph *g, const struct task *t, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct torch_task signature = signature_of(t, &a);
    int rc = torch_read(g, t->torch_src, &signature, err);
    arena_release(&a);
    if (rc == 0 && graph_verify(g, err) < 0) {
        graph_release(g);
        rc = -1;
    }
    return rc < 0 ? err_prefix(err, "task '%s', its PyTorch expression", t->name) : 0;
}

int torch_read_task(struct graph *g, const struct task *t, struct err *err)
{
    if (t->graph_json)
        return read_graph(g, t, err);
    if (t->torch_src)
        return read_expression(g, t, err);
    return err_set(
        err, ERR_INPUT,
        "Hone cannot make a graph of task '%s': it has neither the key \"graph\" nor the key "
        "\"torch\" (a PyTorch expression)",
        t->name);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

static bool graph_convolves(const struct graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        if (op_row(g->values.items[i]->op)->kind == OPK_CONV)
            return true;
    return false;
}

bool torch_may_convolve(const struct task *t)
{
    struct err err = ERR_INIT;
    struct graph g = {.values = VEC_INIT};
    if (torch_read_task(&g, t, &err) < 0)
        return t->torch_src && strcasestr(t->torch_src, "conv");
    bool convolves = graph_convolves(&g);
    graph_release(&g);
    return convolves;
}
