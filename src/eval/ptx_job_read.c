#include "eval/ptx_job_read.h"

#include <string.h>

#include "base/util.h"

enum { MAX_BYTES_LOG = 36 };

/* ---- buffers --------------------------------------------------------------------------------- */

static void read_init(const struct node *n, struct job_buffer *b)
{
    static const char *const words[] = {"zeros", "const", "uniform", "normal", "int"};
    static const uint8_t dists[] = {GEN_ZERO, GEN_CONST, GEN_UNIFORM, GEN_NORMAL, GEN_INT};
    static const char *const keys[] = {"dist", "value", "min", "max", "mean", "std"};
    struct node c;
    size_t which;
    const double most = 1e300;
    if (!node_object(n, 4) || !node_only(n, keys, ARRAY_LEN(keys)) || !node_need(n, "dist", &c) ||
        !node_word(&c, words, ARRAY_LEN(words), &which))
        return;
    b->gen.dist = dists[which];
    b->gen.b = 1;
    if (node_get(n, which == 1 ? "value" : which == 3 ? "mean" : "min", &c))
        node_real(&c, -most, most, &b->gen.a);
    if (node_get(n, which == 3 ? "std" : "max", &c))
        node_real(&c, -most, most, &b->gen.b);
}

static const char *read_path(const struct node *n, const char *key)
{
    struct node c;
    const char *s = "";
    if (node_get(n, key, &c))
        node_str(&c, 4000, &s);
    return s;
}

static void read_buffer(const struct node *n, const char *name, struct job_buffer *b,
                        struct bare_files *f)
{
    static const char *const roles[] = {"input", "output", "inout", "workspace"};
    static const char *const keys[] = {"dtype", "count", "role",  "init",
                                       "from",  "to",    "align", "offset"};
    struct node c;
    const char *type = "";
    int64_t count = 0, align = 256, offset = 0;
    size_t role = 0;
    if (!node_object(n, ARRAY_LEN(keys)) || !node_only(n, keys, ARRAY_LEN(keys)) ||
        !node_name_ok(n, name))
        return;
    b->name = name;
    b->file = "";
    if (node_need(n, "dtype", &c) && node_str(&c, 32, &type)) {
        b->dtype = dtype_from_name(type);
        if (b->dtype == DT_NONE)
            node_bad(&c, "'%s' is not a type; use float32, float16, int32, ...", type);
    }
    if (node_need(n, "count", &c))
        node_int(&c, 1, INT64_C(1) << MAX_BYTES_LOG, &count);
    if (node_get(n, "role", &c))
        node_word(&c, roles, ARRAY_LEN(roles), &role);
    if (node_get(n, "align", &c) && node_int(&c, 1, 65536, &align) && (align & (align - 1)))
        node_bad(&c, "an alignment is a power of two");
    if (node_get(n, "offset", &c))
        node_int(&c, 0, 1 << 20, &offset);
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
    if (node_get(n, "init", &c)) {
        read_init(&c, b);
        b->zero_init = b->role == JOB_WORKSPACE && b->gen.dist == GEN_ZERO;
        if (*f->from)
            node_bad_key(&c, "the buffer already has a \"from\"");
        else if (!filled && !b->zero_init)
            node_bad_key(&c, "an output cannot be initialised, a workspace only with zeros");
    }
    if (*f->from && !filled && node_get(n, "from", &c))
        node_bad_key(&c, "only an input or inout has contents");
    if (*f->to && b->role != JOB_OUTPUT && b->role != JOB_INOUT && node_get(n, "to", &c))
        node_bad_key(&c, "only an output or inout is written");
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
static uint32_t read_list(const struct node *n, const char *key, bool need, int64_t lo, int64_t hi,
                          int64_t out[5])
{
    struct node c;
    if (!(need ? node_need(n, key, &c) : node_get(n, key, &c)) || !node_array(&c, 5))
        return 0;
    uint32_t k = (uint32_t)json_array_size(c.j);
    for (uint32_t i = 0; i < k; i++) {
        struct node item = node_item(&c, i);
        node_int(&item, lo, hi, &out[i]);
    }
    return k;
}

static void read_map(const struct node *n, const struct job_case *c, struct job_tensormap *m)
{
    static const char *const swizzles[] = {"none", "32B", "64B", "128B"};
    static const char *const fills[] = {"zero", "nan"};
    static const char *const keys[] = {"buffer",  "dims", "strides",     "box",
                                       "swizzle", "fill", "elem_strides"};
    int64_t v[5];
    const char *name = "";
    struct node x;
    size_t word = 0;
    if (!node_object(n, ARRAY_LEN(keys)) || !node_only(n, keys, ARRAY_LEN(keys)))
        return;
    if (node_need(n, "buffer", &x) && node_str(&x, 64, &name)) {
        m->buffer = find_buffer(c, name);
        if (m->buffer == UINT32_MAX)
            node_bad(&x, "there is no buffer '%s'", name);
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
    if (m->rank && k + 1 != m->rank && node_get(n, "strides", &x))
        node_bad(&x, "give %u strides in bytes: one for every dimension but the first",
                 m->rank - 1);
    k = read_list(n, "box", true, 1, 256, v);
    for (uint32_t i = 0; i < k; i++)
        m->box[i] = (uint32_t)v[i];
    if (k != m->rank && node_get(n, "box", &x))
        node_bad(&x, "give %u numbers, as many as dims has", m->rank);
    k = read_list(n, "elem_strides", false, 1, 8, v);
    for (uint32_t i = 0; i < k && i < m->rank; i++)
        m->elem_strides[i] = (uint32_t)v[i];
    if (node_get(n, "swizzle", &x) && node_word(&x, swizzles, 4, &word))
        m->swizzle = (uint8_t)word;
    word = 0;
    if (node_get(n, "fill", &x) && node_word(&x, fills, 2, &word))
        m->fill_nan = (uint8_t)word;
}

/* ---- launches -------------------------------------------------------------------------------- */

static void put_bytes(struct job_arg *a, const void *p, uint32_t size)
{
    *a = (struct job_arg){.kind = JOB_ARG_BYTES, .size = size};
    memcpy(a->bytes, p, size);
}

/* Reads a value with its type: {"i32": 7}, {"f32": 0.5}. */
static void read_typed(const struct node *n, struct job_arg *a)
{
    static const char *const keys[] = {"i32", "i64", "f32", "f64", "i8", "i16"};
    struct node c;
    if (!node_object(n, 1) || !node_only(n, keys, ARRAY_LEN(keys)))
        return;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        double d = 0;
        int64_t v = 0;
        if (!node_get(n, keys[i], &c))
            continue;
        if (keys[i][0] == 'f' && !node_real(&c, -1e300, 1e300, &d))
            return;
        if (keys[i][0] == 'i' && !node_int(&c, INT64_MIN, INT64_MAX, &v))
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
    node_bad(n, "a value is {\"i32\": 7}, {\"f32\": 0.5}, ...");
}

static void read_arg(const struct node *n, const struct job_case *c, const char *const *maps,
                     uint32_t nmaps, struct job_arg *a)
{
    const char *name = "";
    if (json_is_integer(n->j)) {
        int64_t v = 0;
        node_int(n, INT32_MIN, UINT32_MAX, &v);
        put_bytes(a, &v, 4);
        return;
    }
    if (json_is_object(n->j)) {
        read_typed(n, a);
        return;
    }
    if (!node_str(n, 64, &name))
        return;
    uint32_t b = find_buffer(c, name);
    *a = (struct job_arg){.kind = JOB_ARG_BUFFER, .index = b, .size = 8};
    for (uint32_t i = 0; b == UINT32_MAX && i < nmaps; i++)
        if (str_eq(maps[i], name)) {
            *a = (struct job_arg){.kind = JOB_ARG_TENSORMAP, .index = i, .size = 128};
            return;
        }
    if (b == UINT32_MAX)
        node_bad(n, "there is no buffer or tensor map '%s'", name);
}

static void read_dims(const struct node *n, const char *key, bool need, int64_t hi, uint32_t out[3])
{
    int64_t v[5] = {1, 1, 1, 1, 1};
    struct node c;
    uint32_t k = read_list(n, key, need, 1, hi, v);
    if (k > 3 && node_get(n, key, &c))
        node_bad(&c, "give at most three dimensions");
    for (int i = 0; i < 3; i++)
        out[i] = (uint32_t)v[i];
}

static void read_launch(const struct node *n, const struct job_case *c, const char *const *maps,
                        uint32_t nmaps, struct job_launch *l)
{
    static const char *const keys[] = {"kernel", "grid", "block",      "cluster",
                                       "smem",   "args", "cooperative"};
    struct node x;
    int64_t smem = 0;
    l->kernel = "";
    if (!node_object(n, ARRAY_LEN(keys)) || !node_only(n, keys, ARRAY_LEN(keys)))
        return;
    if (node_need(n, "kernel", &x))
        node_str(&x, JOB_MAX_NAME - 1, &l->kernel);
    read_dims(n, "grid", true, INT32_MAX, l->grid);
    read_dims(n, "block", true, 1024, l->block);
    read_dims(n, "cluster", false, 16, l->cluster);
    if (node_get(n, "smem", &x) && node_int(&x, 0, 1 << 20, &smem))
        l->smem_bytes = (uint64_t)smem;
    if (node_get(n, "cooperative", &x))
        node_flag(&x, &l->cooperative);
    if (!node_need(n, "args", &x) || !node_array(&x, JOB_MAX_ARGS))
        return;
    l->nargs = (uint32_t)json_array_size(x.j);
    l->args = arena_alloc(n->arena, sizeof *l->args * (l->nargs + 1));
    for (uint32_t i = 0; i < l->nargs; i++) {
        struct node item = node_item(&x, i);
        read_arg(&item, c, maps, nmaps, &l->args[i]);
    }
}

bool bare_read(const struct node *root, struct job_case *c, struct bare_files *files)
{
    static const char *const keys[] = {"buffers", "tensormaps", "launches"};
    struct node n;
    const char *key;
    json_t *v;
    size_t before = root->r->n;
    const char *maps[JOB_MAX_BUFFERS] = {NULL};
    if (!node_object(root, 3) || !node_only(root, keys, ARRAY_LEN(keys)))
        return false;
    struct job_program *p = arena_alloc(root->arena, sizeof *p);
    c->buffers = arena_alloc(root->arena, sizeof *c->buffers * JOB_MAX_BUFFERS);
    if (node_need(root, "buffers", &n) && node_object(&n, JOB_MAX_BUFFERS))
        json_object_foreach((json_t *)n.j, key, v)
        {
            struct node b = node_member(&n, key, v);
            read_buffer(&b, arena_strdup(root->arena, key), &c->buffers[c->nbuffers],
                        &files[c->nbuffers]);
            c->nbuffers++;
        }
    if (node_get(root, "tensormaps", &n) && node_object(&n, JOB_MAX_BUFFERS)) {
        p->tensormaps = arena_alloc(root->arena, sizeof *p->tensormaps * JOB_MAX_BUFFERS);
        json_object_foreach((json_t *)n.j, key, v)
        {
            struct node m = node_member(&n, key, v);
            maps[p->ntensormaps] = key;
            if (find_buffer(c, key) != UINT32_MAX)
                node_bad_key(&m, "a buffer has this name already");
            read_map(&m, c, &p->tensormaps[p->ntensormaps++]);
        }
    }
    if (node_need(root, "launches", &n) && node_array(&n, JOB_MAX_LAUNCHES)) {
        p->nlaunches = (uint32_t)json_array_size(n.j);
        p->launches = arena_alloc(root->arena, sizeof *p->launches * (p->nlaunches + 1));
        if (!p->nlaunches)
            node_bad(&n, "there is nothing to launch");
        for (uint32_t i = 0; i < p->nlaunches; i++) {
            struct node l = node_item(&n, i);
            read_launch(&l, c, maps, p->ntensormaps, &p->launches[i]);
        }
    }
    c->programs = p;
    c->nprograms = 1;
    return root->r->n == before;
}
