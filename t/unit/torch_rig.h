/* torch_rig.h - code that tests of torch/ share. It makes a signature (the tensors, scalars and
 * axes of a task) from a line of text or from a task, and reads the value of an expression. */
#ifndef T_UNIT_TORCH_RIG_H
#define T_UNIT_TORCH_RIG_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "task/task.h"
#include "torch/read.h"

#define RIG_MAX 48

/* A signature and the memory of its texts. */
struct torch_rig {
    struct arena mem;
    struct torch_tensor tensors[RIG_MAX];
    struct torch_scalar scalars[RIG_MAX];
    const char *axes[RIG_MAX];
    int64_t fixed[RIG_MAX];
    struct torch_task task;
};

static inline void rig_axis(struct torch_rig *r, const char *name, int64_t fixed)
{
    for (size_t i = 0; i < r->task.naxes; i++)
        if (str_eq(r->axes[i], name))
            return;
    r->fixed[r->task.naxes] = fixed;
    r->axes[r->task.naxes++] = name;
}

static inline void rig_init(struct torch_rig *r)
{
    memset(r, 0, sizeof *r);
    r->task.axes = r->axes;
    r->task.fixed = r->fixed;
    r->task.tensors = r->tensors;
    r->task.scalars = r->scalars;
}

/* Adds every name in the text of a size to the axes. */
static inline void rig_size(struct torch_rig *r, const char *size)
{
    for (const char *s = size; *s;) {
        size_t n = 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
        if (n && !isdigit((unsigned char)*s) && r->task.naxes < RIG_MAX)
            rig_axis(r, arena_strndup(&r->mem, s, n), 0);
        s += n ? n : 1;
    }
}

/* Makes a signature from a text such as "x float32 R,C; y float32 R out; eps scalar". A tensor with
 * the shape "-" is a single value. "out" marks an output, and "inout" a tensor that is both input
 * and output. */
static inline void rig_spec(struct torch_rig *r, const char *spec)
{
    rig_init(r);
    char *all = arena_strdup(&r->mem, spec), *save = NULL;
    for (char *t = strtok_r(all, ";", &save); t; t = strtok_r(NULL, ";", &save)) {
        char name[32], dtype[32], dims[64] = "-", out[8] = "", *comma = NULL;
        int n = sscanf(t, " %31s %31s %63s %7s", name, dtype, dims, out);
        if (n < 2)
            abort();
        const char *own = arena_strdup(&r->mem, name);
        if (str_eq(dtype, "scalar")) {
            r->scalars[r->task.nscalars++] = (struct torch_scalar){own, DT_F32};
            continue;
        }
        struct torch_tensor *x = &r->tensors[r->task.ntensors++];
        *x = (struct torch_tensor){.name = own, .dtype = dtype_from_name(dtype)};
        x->output = *out != '\0';
        x->input = !*out || str_eq(out, "inout");
        char *sizes = arena_strdup(&r->mem, dims);
        for (char *d = strtok_r(sizes, ",", &comma); d; d = strtok_r(NULL, ",", &comma))
            if (!str_eq(d, "-")) {
                rig_size(r, d);
                x->shape[x->rank++] = d;
            }
    }
}

/* Makes the signature of a task. It points to texts of the task. */
static inline void rig_task(struct torch_rig *r, const struct task *t)
{
    rig_init(r);
    r->task.constraints = t->constraints.items;
    r->task.nconstraints = t->constraints.n;
    for (size_t i = 0; i < t->names.n; i++)
        rig_axis(r, t->names.items[i],
                 i < t->axes.n && t->axes.items[i].is_const ? t->axes.items[i].value : 0);
    vec_each (const struct task_scalar, s, &t->scalars)
        r->scalars[r->task.nscalars++] = (struct torch_scalar){s->name, s->dtype};
    vec_each (const struct task_tensor, x, &t->tensors) {
        struct torch_tensor *to = &r->tensors[r->task.ntensors++];
        *to = (struct torch_tensor){.name = x->name,
                                    .dtype = x->dtype,
                                    .rank = x->rank,
                                    .input = x->is_input,
                                    .output = x->is_output};
        for (uint32_t d = 0; d < x->rank; d++)
            to->shape[d] = expr_text(x->shape[d]);
    }
}

/* Reads an expression with one value into the graph. Returns the value, or NULL with err set. */
static inline const struct value *rig_value(struct graph *g, const char *text,
                                            const struct torch_names *names, struct err *err)
{
    const struct value *v;
    return torch_read_values(g, text, names, &v, 1, err) == 1 ? v : NULL;
}

#endif
