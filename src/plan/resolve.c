/*
 * resolve.c - resolves a plan for one shape to the numbers of job.bin.
 */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "plan/model.h"

struct resolver {
    const struct plan *p;
    const struct sig_vec *sigs;
    const struct shape *s;
    struct job_case *c;
    struct job_program *out;
    struct arena *a;
    /* For each workspace of the plan its index in c->buffers, and for each tensor map its index in
     * out->tensormaps. -1: no launch has used it yet. */
    int workspace_buffer[PLAN_MAX_WORKSPACES];
    int map_index[PLAN_MAX_MAPS];
};

static int tensor_align(void *ctx, const char *name, int64_t *out)
{
    const struct shape *s = ctx;
    int i = task_tensor_index(s->task, name);
    if (i < 0)
        return -1;
    *out = shape_align(s, (size_t)i);
    return 0;
}

int plan_eval(const struct shape *s, const struct expr *e, int64_t *out, struct err *err)
{
    struct expr_env env = {.values = s->axes, .alignof_fn = tensor_align, .ctx = (void *)s};
    return expr_eval(e, &env, out, err);
}

struct shown plan_shown(const struct shape *s, int64_t v)
{
    struct shown out;
    if (s->workload->role == ROLE_HELDOUT)
        snprintf(out.text, sizeof out.text, "out of bounds");
    else
        snprintf(out.text, sizeof out.text, "%lld", (long long)v);
    return out;
}

/* ---- dimensions ------------------------------------------------------------------------------ */

static int resolve_dim3(const struct shape *s, struct expr *const e[3], const char *what,
                        const int64_t most[3], uint32_t out[3], struct err *err)
{
    for (int i = 0; i < 3; i++) {
        int64_t v = 1;
        if (e[i] && plan_eval(s, e[i], &v, err) < 0)
            return err_prefix(err, "%s.%c", what, 'x' + i);
        if (v < 1 || v > most[i])
            return err_set(err, ERR_INPUT, "%s.%c '%s' is %s; it must be 1 to %lld", what, 'x' + i,
                           expr_text(e[i]), SHOWN(s, v), (long long)most[i]);
        out[i] = (uint32_t)v;
    }
    return 0;
}

static int resolve_dims(const struct plan_launch *l, const struct shape *s, struct job_launch *out,
                        struct err *err)
{
    static const int64_t grid_max[3] = {INT32_MAX, 65535, 65535}, block_max[3] = {1024, 1024, 64},
                         cluster_max[3] = {16, 16, 16};
    int64_t smem = 0;
    if (resolve_dim3(s, l->grid, "grid", grid_max, out->grid, err) < 0 ||
        resolve_dim3(s, l->block, "block", block_max, out->block, err) < 0 ||
        resolve_dim3(s, l->cluster, "cluster", cluster_max, out->cluster, err) < 0)
        return -1;
    uint32_t threads = out->block[0] * out->block[1] * out->block[2];
    uint32_t blocks = out->cluster[0] * out->cluster[1] * out->cluster[2];
    if (threads > 1024)
        return err_set(err, ERR_INPUT, "the threads of a block are %s; at most 1024 are allowed",
                       SHOWN(s, threads));
    if (blocks > 16)
        return err_set(err, ERR_INPUT, "the blocks of a cluster are %s; at most 16 are allowed",
                       SHOWN(s, blocks));
    for (int i = 0; i < 3; i++)
        if (out->cluster[i] && out->grid[i] % out->cluster[i])
            return err_set(err, ERR_INPUT,
                           "grid.%c is %s, not a multiple of cluster.%c, which is %u", 'x' + i,
                           SHOWN(s, out->grid[i]), 'x' + i, out->cluster[i]);
    if (l->smem && plan_eval(s, l->smem, &smem, err) < 0)
        return err_prefix(err, "smem");
    if (smem < 0 || smem > PLAN_MAX_SMEM)
        return err_set(err, ERR_INPUT, "smem '%s' is %s; it must be 0 to %d bytes",
                       expr_text(l->smem), SHOWN(s, smem), PLAN_MAX_SMEM);
    out->smem_bytes = (uint64_t)smem;
    return 0;
}

/* ---- buffers and maps that launches use ------------------------------------------------------ */

static struct job_buffer *add_buffer(struct job_case *c, struct arena *a)
{
    if (c->nbuffers >= c->buffers_room) {
        c->buffers_room = MAX(c->nbuffers * 2, 8u);
        struct job_buffer *more = arena_alloc(a, c->buffers_room * sizeof *more);
        memcpy(more, c->buffers, c->nbuffers * sizeof *more);
        c->buffers = more;
    }
    return &c->buffers[c->nbuffers++];
}

static int need_workspace(struct resolver *r, size_t i, uint32_t *index, struct err *err)
{
    const struct plan_workspace *w = &r->p->workspaces.items[i];
    int64_t bytes;
    if (r->workspace_buffer[i] < 0) {
        if (plan_eval(r->s, w->bytes, &bytes, err) < 0)
            return err_prefix(err, "workspace '%s'", w->name);
        if (bytes < 0 || (uint64_t)bytes > TASK_MAX_BYTES)
            return err_set(err, ERR_INPUT, "workspace '%s': bytes '%s' is %s; it must be 0 to %llu",
                           w->name, expr_text(w->bytes), SHOWN(r->s, bytes),
                           (unsigned long long)TASK_MAX_BYTES);
        if (r->c->nbuffers >= JOB_MAX_BUFFERS)
            return err_set(err, ERR_LIMIT, "more than %d buffers", JOB_MAX_BUFFERS);
        r->workspace_buffer[i] = (int)r->c->nbuffers;
        struct job_buffer *b = add_buffer(r->c, r->a);
        /* A workspace of 0 bytes still has an address. */
        *b = (struct job_buffer){.name = arena_strdup(r->a, w->name),
                                 .role = JOB_WORKSPACE,
                                 .dtype = DT_U8,
                                 .elems = (uint64_t)MAX(bytes, 1),
                                 .bytes = (uint64_t)MAX(bytes, 1),
                                 .align = TASK_DEFAULT_ALIGN,
                                 .zero_init = w->zero,
                                 .rank = 1};
        b->dims[0] = (int64_t)b->elems;
    }
    *index = (uint32_t)r->workspace_buffer[i];
    return 0;
}

static int need_map(struct resolver *r, size_t i, uint32_t *index, struct err *err)
{
    const struct plan_map *m = &r->p->maps.items[i];
    uint32_t buffer = (uint32_t)m->index;
    if (r->map_index[i] < 0) {
        if (m->of_workspace && need_workspace(r, m->index, &buffer, err) < 0)
            return -1;
        struct job_tensormap *t = &r->out->tensormaps[r->out->ntensormaps];
        if (plan_resolve_map(r->p, m, r->s, &r->c->buffers[buffer], buffer, t, err) < 0)
            return -1;
        r->map_index[i] = (int)r->out->ntensormaps++;
    }
    *index = (uint32_t)r->map_index[i];
    return 0;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int store_int(const struct shape *sh, const char *text, int64_t v, const struct sig_param *s,
                     struct job_arg *out, struct err *err)
{
    unsigned bits = s->size * 8;
    bool fits = bits >= 64     ? s->is_signed || v >= 0
                : s->is_signed ? v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1)
                               : v >= 0 && v < INT64_C(1) << bits;
    if (s->kind == SIG_BOOL)
        v = v != 0;
    else if (!fits)
        return err_set(err, ERR_INPUT, "'%s' is %s, which does not fit a %u-byte %s integer", text,
                       SHOWN(sh, v), s->size, s->is_signed ? "signed" : "unsigned");
    memcpy(out->bytes, &v, s->size);
    return 0;
}

static void store_float(double v, const struct sig_param *s, enum dtype type, struct job_arg *out)
{
    if (s->kind == SIG_STRUCT || s->size == 2)
        dtype_store(type, out->bytes, v);
    else
        dtype_store(s->size == 8 ? DT_F64 : DT_F32, out->bytes, v);
}

/* Computes a real argument in double, and rounds only the result to the parameter's type. */
static int resolve_real(struct resolver *r, const struct expr *e, const struct sig_param *s,
                        struct job_arg *out, struct err *err)
{
    struct expr_env env = {.values = r->s->axes,
                           .alignof_fn = tensor_align,
                           .ctx = (void *)r->s,
                           .reals = r->p->real_values};
    double v;
    if (expr_eval_real(e, &env, &v, err) < 0)
        return -1;
    out->kind = JOB_ARG_BYTES;
    out->size = s->size;
    if (s->size == 4 && isinf((float)v))
        return err_set(err, ERR_INPUT, "'%s' is larger than the largest float", expr_text(e));
    store_float(v, s, DT_F32, out);
    return 0;
}

static int resolve_number(struct resolver *r, const struct plan_arg *a, const struct sig_param *s,
                          struct job_arg *out, struct err *err)
{
    int64_t v = 0;
    double real = 0;
    enum dtype type = DT_I64;
    const char *text = a->text;
    if (a->kind == PLAN_ARG_AXIS) {
        v = r->s->axes[a->index];
    } else if (a->kind == PLAN_ARG_EXPR && expr_is_real(a->expr)) {
        return resolve_real(r, a->expr, s, out, err);
    } else if (a->kind == PLAN_ARG_EXPR) {
        text = expr_text(a->expr);
        if (plan_eval(r->s, a->expr, &v, err) < 0)
            return -1;
    } else {
        const struct task_scalar *sc = &r->s->task->scalars.items[a->index];
        type = sc->dtype;
        real = sc->value;
        v = dtype_is_float(type) ? 0 : (int64_t)real;
    }
    if (s->size != 1 && s->size != 2 && s->size != 4 && s->size != 8)
        return err_set(err, ERR_INPUT, "'%s': the parameter has %u bytes", text, s->size);
    out->kind = JOB_ARG_BYTES;
    out->size = s->size;
    if (dtype_is_float(type)) {
        store_float(real, s, type, out);
    } else if (s->kind == SIG_FLOAT) {
        store_float((double)v, s, DT_F32, out);
    } else {
        return store_int(r->s, text, v, s, out, err);
    }
    return 0;
}

static int resolve_arg(struct resolver *r, const struct plan_arg *a, const struct sig_param *s,
                       struct job_arg *out, struct err *err)
{
    *out = (struct job_arg){.size = 8};
    switch (a->kind) {
    case PLAN_ARG_TENSOR:
        out->kind = JOB_ARG_BUFFER;
        out->index = (uint32_t)a->index;
        return 0;
    case PLAN_ARG_WORKSPACE:
        out->kind = JOB_ARG_BUFFER;
        return need_workspace(r, a->index, &out->index, err);
    case PLAN_ARG_NULL:
        out->kind = JOB_ARG_BYTES;
        return 0;
    case PLAN_ARG_MAP:
        out->kind = JOB_ARG_TENSORMAP;
        out->size = 128;
        return need_map(r, a->index, &out->index, err);
    default:
        return resolve_number(r, a, s, out, err);
    }
}

/* ---- memset and copy ------------------------------------------------------------------------- */

/* Sets *buffer and *offset to where part x begins, and *left to the number of bytes from there to
 * the buffer's end. */
static int resolve_part(struct resolver *r, const struct plan_part *x, uint32_t *buffer,
                        uint64_t *offset, int64_t *left, struct err *err)
{
    int64_t at = 0;
    *buffer = (uint32_t)x->index;
    if (x->of_workspace && need_workspace(r, x->index, buffer, err) < 0)
        return -1;
    if (x->offset && plan_eval(r->s, x->offset, &at, err) < 0)
        return err_prefix(err, "the offset in '%s'", x->name);
    int64_t size = (int64_t)r->c->buffers[*buffer].bytes;
    if (at < 0 || at > size)
        return err_set(err, ERR_INPUT, "the offset in '%s' is %s; it must be 0 to %s", x->name,
                       SHOWN(r->s, at), SHOWN(r->s, size));
    *offset = (uint64_t)at;
    *left = size - at;
    return 0;
}

static int resolve_bytes(struct resolver *r, const struct plan_launch *l, const struct plan_part *x,
                         int64_t left, uint64_t *out, struct err *err)
{
    int64_t bytes = left;
    if (l->bytes && plan_eval(r->s, l->bytes, &bytes, err) < 0)
        return err_prefix(err, "bytes");
    if (bytes < 0 || bytes > left)
        return err_set(err, ERR_INPUT, "bytes is %s, but '%s' has %s bytes from the offset on",
                       SHOWN(r->s, bytes), x->name, SHOWN(r->s, left));
    *out = (uint64_t)bytes;
    return 0;
}

static int resolve_memset(struct resolver *r, const struct plan_launch *l, struct job_transfer *t,
                          struct err *err)
{
    int64_t left = 0, value = 0;
    if (resolve_part(r, &l->to, &t->to, &t->to_offset, &left, err) < 0 ||
        resolve_bytes(r, l, &l->to, left, &t->bytes, err) < 0)
        return -1;
    if (l->value && plan_eval(r->s, l->value, &value, err) < 0)
        return err_prefix(err, "value");
    int64_t most = (INT64_C(1) << 8 * l->width) - 1;
    if (value < -(most / 2) - 1 || value > most)
        return err_set(err, ERR_INPUT, "value is %s, which does not fit %u byte%s",
                       SHOWN(r->s, value), l->width, l->width == 1 ? "" : "s");
    if (t->to_offset % l->width || t->bytes % l->width)
        return err_set(err, ERR_INPUT, "offset and bytes must be multiples of the width, %u",
                       l->width);
    if (!l->to.of_workspace && shape_align(r->s, l->to.index) < l->width)
        return err_set(err, ERR_INPUT, "the address of '%s' must be a multiple of the width, %u",
                       l->to.name, l->width);
    t->value = (uint32_t)(value & most);
    t->width = l->width;
    return 0;
}

static int resolve_copy(struct resolver *r, const struct plan_launch *l, struct job_transfer *t,
                        struct err *err)
{
    int64_t from_left = 0, to_left = 0;
    t->width = 1;
    if (resolve_part(r, &l->from, &t->from, &t->from_offset, &from_left, err) < 0 ||
        resolve_part(r, &l->to, &t->to, &t->to_offset, &to_left, err) < 0 ||
        resolve_bytes(r, l, &l->from, from_left, &t->bytes, err) < 0)
        return -1;
    if ((int64_t)t->bytes > to_left)
        return err_set(err, ERR_INPUT, "it copies %s bytes, but '%s' has %s from the offset on",
                       SHOWN(r->s, t->bytes), l->to.name, SHOWN(r->s, to_left));
    if (t->to == t->from && t->to_offset < t->from_offset + t->bytes &&
        t->from_offset < t->to_offset + t->bytes)
        return err_set(err, ERR_INPUT, "the two parts of '%s' overlap", l->to.name);
    return 0;
}

static int resolve_transfer(struct resolver *r, const struct plan_launch *l, struct job_launch *out,
                            struct err *err)
{
    *out = (struct job_launch){.kind = l->kind == PLAN_MEMSET ? JOB_MEMSET : JOB_COPY,
                               .kernel = l->kernel,
                               .grid = {1, 1, 1},
                               .block = {1, 1, 1},
                               .cluster = {1, 1, 1}};
    return l->kind == PLAN_MEMSET ? resolve_memset(r, l, &out->transfer, err)
                                  : resolve_copy(r, l, &out->transfer, err);
}

/* ---- launches -------------------------------------------------------------------------------- */

static int resolve_launch(struct resolver *r, const struct plan_launch *l, struct job_launch *out,
                          struct err *err)
{
    const struct sig *sig = NULL;
    vec_each (const struct sig, s, r->sigs)
        if (str_eq(s->kernel, l->kernel))
            sig = s;
    if (!sig || sig->nparams != l->args.n)
        return err_set(err, ERR_INPUT, "the kernel's signature is not known or differs");
    *out = (struct job_launch){.kernel = arena_strdup(r->a, sig_entry(sig)),
                               .label = l->kernel,
                               .cooperative = l->cooperative,
                               .pdl = l->pdl};
    if (resolve_dims(l, r->s, out, err) < 0)
        return -1;
    out->args = arena_alloc(r->a, l->args.n * sizeof *out->args);
    for (size_t i = 0; i < l->args.n; i++) {
        if (resolve_arg(r, &l->args.items[i], &sig->params[i], &out->args[i], err) < 0)
            return err_prefix(err, "argument %zu", i);
        out->nargs++;
    }
    return 0;
}

static int resolve_launches(struct resolver *r, struct err *err)
{
    const struct plan *p = r->p;
    for (size_t i = 0; i < p->launches.n; i++) {
        const struct plan_launch *l = &p->launches.items[i];
        int64_t when = 1;
        if (l->when && plan_eval(r->s, l->when, &when, err) < 0)
            return err_prefix(err, "launch %zu (%s): when", i, l->kernel);
        if (!when)
            continue;
        struct job_launch *out = &r->out->launches[r->out->nlaunches];
        if ((l->kind == PLAN_KERNEL ? resolve_launch(r, l, out, err)
                                    : resolve_transfer(r, l, out, err)) < 0)
            return err_prefix(err, "launch %zu (%s)", i, l->kernel);
        r->out->nlaunches += out->kind == JOB_KERNEL || out->transfer.bytes;
    }
    if (r->out->nlaunches == 0)
        return err_set(
            err, ERR_INPUT,
            "no launch runs: each has a \"when\" that is false, or copies or sets 0 bytes");
    return 0;
}

int plan_resolve(const struct plan *p, const struct sig_vec *sigs, const struct shape *shape,
                 struct job_case *c, struct job_program *out, struct arena *a, struct err *err)
{
    struct resolver r = {.p = p, .sigs = sigs, .s = shape, .c = c, .out = out, .a = a};
    if (p->task != shape->task)
        BUG("plan and shape belong to different tasks");
    memset(r.workspace_buffer, -1, sizeof r.workspace_buffer);
    memset(r.map_index, -1, sizeof r.map_index);
    if (!c->nbuffers && plan_fill_case(c, shape, a, err) < 0)
        return -1;
    out->nlaunches = out->ntensormaps = 0;
    out->launches = arena_alloc(a, p->launches.n * sizeof *out->launches);
    out->tensormaps = arena_alloc(a, p->maps.n * sizeof *out->tensormaps);
    if (resolve_launches(&r, err) < 0) {
        const char *where = shape_text(shape, a);
        return shape->workload->role == ROLE_HELDOUT ? -1 : err_prefix(err, "at %s", where);
    }
    return 0;
}
