/* ptx_job_read.c - reads the buffers, tensor maps and launches of a PTX job. */
#include "eval/ptx_job_read.h"

#include <string.h>

#include "base/util.h"

enum { MAX_BYTES_LOG = 36 }; /* a buffer has at most 2^36 elements */

/* ---- buffers --------------------------------------------------------------------------------- */

static void read_init(const struct json_node *n, struct job_buffer *b)
{
    static const char *const words[] = {"zeros", "const", "uniform", "normal", "int"};
    static const uint8_t dists[] = {GEN_ZERO, GEN_CONST, GEN_UNIFORM, GEN_NORMAL, GEN_INT};
    static const char *const keys[] = {"dist", "value", "min", "max", "mean", "std"};
    struct json_node c;
    size_t which;
    const double most = 1e300;
    if (!json_node_object(n, 4) || !json_node_only(n, keys, ARRAY_LEN(keys)) ||
        !json_node_need(n, "dist", &c) || !json_node_word(&c, words, ARRAY_LEN(words), &which))
        return;
    b->gen.dist = dists[which];
    b->gen.b = 1;
    if (json_node_get(n, which == 1 ? "value" : which == 3 ? "mean" : "min", &c))
        json_node_real(&c, -most, most, &b->gen.a);
    if (json_node_get(n, which == 3 ? "std" : "max", &c))
        json_node_real(&c, -most, most, &b->gen.b);
}

static const char *read_path(const struct json_node *n, const char *key)
{
    struct json_node c;
    const char *s = "";
    if (json_node_get(n, key, &c))
        json_node_str(&c, 4000, &s);
    return s;
}

static void read_buffer(const struct json_node *n, const char *name, struct job_buffer *b,
                        struct ptx_job_files *f)
{
    static const char *const roles[] = {"input", "output", "inout", "workspace"};
    static const char *const keys[] = {"dtype", "count", "role",  "init",
                                       "from",  "to",    "align", "offset"};
    struct json_node c;
    const char *type = "";
    int64_t count = 0, align = 256, offset = 0;
    size_t role = 0;
    if (!json_node_object(n, ARRAY_LEN(keys)) || !json_node_only(n, keys, ARRAY_LEN(keys)) ||
        !json_node_name_ok(n, name))
        return;
    b->name = name;
    b->file = "";
    if (json_node_need(n, "dtype", &c) && json_node_str(&c, 32, &type)) {
        b->dtype = dtype_from_name(type);
        if (b->dtype == DT_NONE)
            json_node_bad(&c, "'%s' must be a type: float32, float16, int32, ...", type);
    }
    if (json_node_need(n, "count", &c))
        json_node_int(&c, 1, INT64_C(1) << MAX_BYTES_LOG, &count);
    if (json_node_get(n, "role", &c))
        json_node_word(&c, roles, ARRAY_LEN(roles), &role);
    if (json_node_get(n, "align", &c) && json_node_int(&c, 1, 65536, &align) &&
        (align & (align - 1)))
        json_node_bad(&c, "the alignment must be a power of two");
    if (json_node_get(n, "offset", &c))
        json_node_int(&c, 0, 1 << 20, &offset);
    b->role = (enum job_buffer_role)role;
    b->elems = (uint64_t)count;
    b->bytes = (uint64_t)count * dtype_bytes(b->dtype);
    b->align = (uint32_t)align;
    b->offset = (uint64_t)offset;
    b->rank = 1;
    b->dims[0] = count;
    b->gen.dist = GEN_ZERO;
    b->gen.n = b->elems;
    f->from = read_path(n, "from");
    f->to = read_path(n, "to");
    bool filled = b->role == JOB_INPUT || b->role == JOB_INOUT;
    if (json_node_get(n, "init", &c)) {
        read_init(&c, b);
        b->zero_init = b->role == JOB_WORKSPACE && b->gen.dist == GEN_ZERO;
        if (*f->from)
            json_node_bad_key(&c, "a buffer must not have both \"init\" and \"from\"");
        else if (!filled && !b->zero_init)
            json_node_bad_key(&c,
                              "an output must have no \"init\"; the \"init\" of a workspace must "
                              "be zeros");
    }
    if (*f->from && !filled && json_node_get(n, "from", &c))
        json_node_bad_key(&c, "only a buffer of role input or inout can have \"from\"");
    if (*f->to && b->role != JOB_OUTPUT && b->role != JOB_INOUT && json_node_get(n, "to", &c))
        json_node_bad_key(&c, "only a buffer of role output or inout can have \"to\"");
}

static uint32_t find_buffer(const struct job_case *c, const char *name)
{
    for (uint32_t i = 0; i < c->nbuffers; i++)
        if (c->buffers[i].name && str_eq(c->buffers[i].name, name))
            return i;
    return UINT32_MAX;
}

/* ---- tensor maps ----------------------------------------------------------------------------- */

/* Reads up to five numbers; returns their count. */
static uint32_t read_list(const struct json_node *n, const char *key, bool need, int64_t lo,
                          int64_t hi, int64_t out[5])
{
    struct json_node c;
    if (!(need ? json_node_need(n, key, &c) : json_node_get(n, key, &c)) || !json_node_array(&c, 5))
        return 0;
    uint32_t k = (uint32_t)json_array_size(c.j);
    for (uint32_t i = 0; i < k; i++) {
        struct json_node item = json_node_item(&c, i);
        json_node_int(&item, lo, hi, &out[i]);
    }
    return k;
}

static void read_map(const struct json_node *n, const struct job_case *c, struct job_tensormap *m)
{
    static const char *const swizzles[] = {"none", "32B", "64B", "128B"};
    static const char *const fills[] = {"zero", "nan"};
    static const char *const keys[] = {"buffer",  "dims", "strides",     "box",
                                       "swizzle", "fill", "elem_strides"};
    int64_t v[5];
    const char *name = "";
    struct json_node x;
    size_t word = 0;
    if (!json_node_object(n, ARRAY_LEN(keys)) || !json_node_only(n, keys, ARRAY_LEN(keys)))
        return;
    if (json_node_need(n, "buffer", &x) && json_node_str(&x, 64, &name)) {
        m->buffer = find_buffer(c, name);
        if (m->buffer == UINT32_MAX)
            json_node_bad(&x, "there is no buffer '%s'", name);
        else
            m->dtype = c->buffers[m->buffer].dtype;
    }
    m->rank = read_list(n, "dims", true, 1, INT64_C(1) << 32, v);
    for (uint32_t i = 0; i < m->rank; i++) {
        m->dims[i] = (uint64_t)v[i];
        m->elem_strides[i] = 1;
    }
    uint32_t k = read_list(n, "strides", m->rank > 1, 16, INT64_C(1) << 40, v);
    for (uint32_t i = 0; i < k && i < 4; i++)
        m->strides[i + 1] = (uint64_t)v[i];
    if (m->rank && k + 1 != m->rank && json_node_get(n, "strides", &x))
        json_node_bad(&x, "there must be %u strides in bytes: one for each dimension but the first",
                      m->rank - 1);
    k = read_list(n, "box", true, 1, 256, v);
    for (uint32_t i = 0; i < k; i++)
        m->box[i] = (uint32_t)v[i];
    if (k != m->rank && json_node_get(n, "box", &x))
        json_node_bad(&x, "there must be %u numbers, as many as dims has", m->rank);
    k = read_list(n, "elem_strides", false, 1, 8, v);
    for (uint32_t i = 0; i < k && i < m->rank; i++)
        m->elem_strides[i] = (uint32_t)v[i];
    if (json_node_get(n, "swizzle", &x) && json_node_word(&x, swizzles, 4, &word))
        m->swizzle = (uint8_t)word;
    word = 0;
    if (json_node_get(n, "fill", &x) && json_node_word(&x, fills, 2, &word))
        m->fill_nan = (uint8_t)word;
}

/* ---- launches -------------------------------------------------------------------------------- */

static void put_bytes(struct job_arg *a, const void *p, uint32_t size)
{
    *a = (struct job_arg){.kind = JOB_ARG_BYTES, .size = size};
    memcpy(a->bytes, p, size);
}

/* Reads a value with its type: {"i32": 7}, {"f32": 0.5}. */
static void read_typed(const struct json_node *n, struct job_arg *a)
{
    static const char *const keys[] = {"i32", "i64", "f32", "f64", "i8", "i16"};
    struct json_node c;
    if (!json_node_object(n, 1) || !json_node_only(n, keys, ARRAY_LEN(keys)))
        return;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        double d = 0;
        int64_t v = 0;
        if (!json_node_get(n, keys[i], &c))
            continue;
        if (keys[i][0] == 'f' && !json_node_real(&c, -1e300, 1e300, &d))
            return;
        if (keys[i][0] == 'i' && !json_node_int(&c, INT64_MIN, INT64_MAX, &v))
            return;
        float f = (float)d;
        if (keys[i][0] == 'i')
            put_bytes(a, &v, (uint32_t)strtoul(keys[i] + 1, NULL, 10) / 8);
        else if (keys[i][1] == '3')
            put_bytes(a, &f, 4);
        else
            put_bytes(a, &d, 8);
        return;
    }
    json_node_bad(n, "a value must have the form {\"i32\": 7}, {\"f32\": 0.5}, ...");
}

static void read_arg(const struct json_node *n, const struct job_case *c, const char *const *maps,
                     uint32_t nmaps, struct job_arg *a)
{
    const char *name = "";
    if (json_is_integer(n->j)) {
        int64_t v = 0;
        json_node_int(n, INT32_MIN, UINT32_MAX, &v);
        put_bytes(a, &v, 4);
        return;
    }
    if (json_is_object(n->j)) {
        read_typed(n, a);
        return;
    }
    if (!json_node_str(n, 64, &name))
        return;
    uint32_t b = find_buffer(c, name);
    *a = (struct job_arg){.kind = JOB_ARG_BUFFER, .index = b, .size = 8};
    for (uint32_t i = 0; b == UINT32_MAX && i < nmaps; i++)
        if (str_eq(maps[i], name)) {
            *a = (struct job_arg){.kind = JOB_ARG_TENSORMAP, .index = i, .size = 128};
            return;
        }
    if (b == UINT32_MAX)
        json_node_bad(n, "there is no buffer or tensor map '%s'", name);
}

static void read_dims(const struct json_node *n, const char *key, bool need, int64_t hi,
                      uint32_t out[3])
{
    int64_t v[5] = {1, 1, 1, 1, 1};
    struct json_node c;
    uint32_t k = read_list(n, key, need, 1, hi, v);
    if (k > 3 && json_node_get(n, key, &c))
        json_node_bad(&c, "there must be at most three dimensions");
    for (int i = 0; i < 3; i++)
        out[i] = (uint32_t)v[i];
}

static void read_launch(const struct json_node *n, const struct job_case *c,
                        const char *const *maps, uint32_t nmaps, struct job_launch *l)
{
    static const char *const keys[] = {"kernel", "grid", "block",      "cluster",
                                       "smem",   "args", "cooperative"};
    struct json_node x;
    int64_t smem = 0;
    l->kernel = "";
    if (!json_node_object(n, ARRAY_LEN(keys)) || !json_node_only(n, keys, ARRAY_LEN(keys)))
        return;
    if (json_node_need(n, "kernel", &x))
        json_node_str(&x, JOB_MAX_NAME - 1, &l->kernel);
    read_dims(n, "grid", true, INT32_MAX, l->grid);
    read_dims(n, "block", true, 1024, l->block);
    read_dims(n, "cluster", false, 16, l->cluster);
    if (json_node_get(n, "smem", &x) && json_node_int(&x, 0, 1 << 20, &smem))
        l->smem_bytes = (uint64_t)smem;
    if (json_node_get(n, "cooperative", &x))
        json_node_flag(&x, &l->cooperative);
    if (!json_node_need(n, "args", &x) || !json_node_array(&x, JOB_MAX_ARGS))
        return;
    l->nargs = (uint32_t)json_array_size(x.j);
    l->args = arena_alloc(n->arena, sizeof *l->args * (l->nargs + 1));
    for (uint32_t i = 0; i < l->nargs; i++) {
        struct json_node item = json_node_item(&x, i);
        read_arg(&item, c, maps, nmaps, &l->args[i]);
    }
}

bool ptx_job_read(const struct json_node *root, struct job_case *c, struct ptx_job_files *files)
{
    static const char *const keys[] = {"buffers", "tensormaps", "launches"};
    struct json_node n;
    const char *key;
    json_t *v;
    size_t before = root->r->n;
    const char *maps[JOB_MAX_BUFFERS] = {NULL};
    if (!json_node_object(root, 3) || !json_node_only(root, keys, ARRAY_LEN(keys)))
        return false;
    struct job_program *p = arena_alloc(root->arena, sizeof *p);
    c->buffers = arena_alloc(root->arena, sizeof *c->buffers * JOB_MAX_BUFFERS);
    if (json_node_need(root, "buffers", &n) && json_node_object(&n, JOB_MAX_BUFFERS))
        json_object_foreach((json_t *)n.j, key, v)
        {
            struct json_node b = json_node_member(&n, key, v);
            read_buffer(&b, arena_strdup(root->arena, key), &c->buffers[c->nbuffers],
                        &files[c->nbuffers]);
            c->nbuffers++;
        }
    if (json_node_get(root, "tensormaps", &n) && json_node_object(&n, JOB_MAX_BUFFERS)) {
        p->tensormaps = arena_alloc(root->arena, sizeof *p->tensormaps * JOB_MAX_BUFFERS);
        json_object_foreach((json_t *)n.j, key, v)
        {
            struct json_node m = json_node_member(&n, key, v);
            maps[p->ntensormaps] = key;
            if (find_buffer(c, key) != UINT32_MAX)
                json_node_bad_key(&m, "a tensor map must not have the name of a buffer");
            read_map(&m, c, &p->tensormaps[p->ntensormaps++]);
        }
    }
    if (json_node_need(root, "launches", &n) && json_node_array(&n, JOB_MAX_LAUNCHES)) {
        p->nlaunches = (uint32_t)json_array_size(n.j);
        p->launches = arena_alloc(root->arena, sizeof *p->launches * (p->nlaunches + 1));
        if (!p->nlaunches)
            json_node_bad(&n, "there must be at least one launch");
        for (uint32_t i = 0; i < p->nlaunches; i++) {
            struct json_node l = json_node_item(&n, i);
            read_launch(&l, c, maps, p->ntensormaps, &p->launches[i]);
        }
    }
    c->programs = p;
    c->nprograms = 1;
    return root->r->n == before;
}
