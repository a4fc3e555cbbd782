#include "torch/task.h"

#include "base/util.h"
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

/* t->names holds the axes first, then the integer scalars. */
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

int torch_read_task(struct graph *g, const struct task *t, struct err *err)
{
    struct arena a = ARENA_INIT;
    if (!t->torch_src)
        return err_set(
            err, ERR_INPUT,
            "task '%s' has no PyTorch expression (its key \"torch\"), so it has no graph", t->name);
    struct torch_task signature = signature_of(t, &a);
    int rc = torch_read(g, t->torch_src, &signature, err);
    arena_release(&a);
    if (rc == 0 && graph_verify(g, err) < 0) {
        graph_release(g);
        rc = -1;
    }
    return rc < 0 ? err_prefix(err, "task '%s', its PyTorch expression", t->name) : 0;
}
