/* traits.c - computes and compares the traits of tasks; see traits.h. */
#include "memory/traits.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "graph/normal/normal.h"
#include "memory/lesson.h"
#include "sys/hash.h"
#include "torch/task.h"

_Static_assert(TRAITS_MAX_MARKS *(TRAITS_MARK + 1) <= LESSON_MARKS, "marks fit a lesson");

/* ---- marks ----------------------------------------------------------------------------------- */

/* The hash of a value, or of the whole graph, at one shape (traits.h). */
struct mark {
    char hex[HASH_HEX];
};

static void hash_dim(struct hash *h, const struct dim *d, const int64_t *axes)
{
    int64_t v = -1;
    if (!dim_eval(d, axes, &v))
        v = -1;
    hash_u64(h, (uint64_t)v);
}

static void hash_attr(struct hash *h, const struct attr *x, const int64_t *axes)
{
    uint64_t bits;
    hash_u64(h, (uint64_t)x->kind);
    hash_u64(h, (uint64_t)x->i);
    memcpy(&bits, &x->real, sizeof bits);
    hash_u64(h, bits);
    hash_u64(h, x->n);
    for (size_t i = 0; i < x->n && i < GRAPH_MAX_RANK; i++)
        if (x->kind == ATTR_DIMS)
            hash_dim(h, x->dims[i], axes);
        else
            hash_u64(h, (uint64_t)x->ints[i]);
    if (x->kind == ATTR_DIM)
        hash_dim(h, x->dims[0], axes);
    hash_str(h, x->text);
    hash_u64(h, (uint64_t)x->dtype);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sets marks[v->id]. The operands of v must have their marks. Names of inputs and scalars do not
 * change a mark. */
static void mark_value(const struct value *v, const int64_t *axes, struct mark *marks)
{
    struct hash *h = hash_new();
    struct mark args[GRAPH_MAX_ARGS];
    uint64_t bits;
    hash_str(h, op_row(v->op)->name);
    hash_u64(h, (uint64_t)v->dtype);
    for (uint32_t d = 0; d < v->rank; d++)
        hash_dim(h, v->shape[d], axes);
    memcpy(&bits, &v->number, sizeof bits);
    hash_u64(h, bits);
    if (v->size)
        hash_dim(h, v->size, axes);
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i])
            args[i] = marks[v->args[i]->id];
        else
            args[i].hex[0] = '\0';
    if (op_is_commutative(v->op))
        qsort(args, v->nargs, sizeof *args, by_text);
    for (uint32_t i = 0; i < v->nargs; i++)
        hash_str(h, args[i].hex);
    for (uint32_t i = 0; i < v->nattrs; i++)
        hash_attr(h, &v->attrs[i], axes);
    hash_finish(h, marks[v->id].hex);
}

static void mark_graph(const struct graph *g, const int64_t *axes, struct mark *out)
{
    struct mark *marks = xcalloc(g->values.n + 1, sizeof *marks);
    vec_each (struct value *, v, &g->values)
        mark_value(*v, axes, marks);
    struct hash *h = hash_new();
    vec_each (const struct graph_output, o, &g->outputs) {
        hash_u64(h, (uint64_t)o->dtype);
        hash_str(h, marks[o->value->id].hex);
    }
    hash_finish(h, out->hex);
    free(marks);
}

/* Sets *out to the mark of a task without a graph. */
static void mark_tensors(const struct task *t, const struct shape *s, struct mark *out)
{
    struct hash *h = hash_new();
    hash_str(h, task_class_name(t->class));
    hash_str(h, t->op_type);
    for (size_t i = 0; i < t->tensors.n; i++) {
        hash_u64(h, (uint64_t)t->tensors.items[i].dtype);
        hash_u64(h, s->elems[i]);
    }
    hash_finish(h, out->hex);
}

/* ---- the other traits ------------------------------------------------------------------------ */

static void add_sizes(const struct task *t, const struct shape *s, double sum[TRAITS_SIZES])
{
    double bytes = 0, inner = 1;
    int64_t dims[TASK_MAX_RANK];
    for (size_t i = 0; i < t->tensors.n; i++)
        bytes += (double)s->elems[i] * (double)dtype_bytes(t->tensors.items[i].dtype);
    if (t->tensors.n && t->tensors.items[0].rank && shape_dims(s, 0, dims, NULL) == 0)
        inner = (double)dims[t->tensors.items[0].rank - 1];
    double elems = t->tensors.n ? (double)s->elems[0] : 1;
    double wide = t->tensors.n ? (double)dtype_bytes(t->tensors.items[0].dtype) : 1;
    sum[0] += log2(MAX(bytes, 1));
    sum[1] += log2(MAX(inner, 1));
    sum[2] += log2(MAX(elems / MAX(inner, 1), 1));
    sum[3] += log2(MAX(wide, 0.125));
    sum[4] += log2((double)t->tensors.n + 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *op_names(const struct graph *g, struct arena *a)
{
    const char *names[OP_COUNT] = {NULL};
    bool seen[OP_COUNT] = {false};
    struct strbuf text = STRBUF_INIT(4096);
    size_t n = 0;
    vec_each (const struct graph_output, o, &g->outputs) {
        struct arena mem = ARENA_INIT;
        const bool *needed = graph_needed(g, o->value, NULL, &mem);
        for (uint32_t id = 0; id <= o->value->id; id++)
            seen[g->values.items[id]->op] |= needed[id];
        arena_release(&mem);
    }
    for (int op = 0; op < OP_COUNT; op++)
        if (seen[op] && op_row((enum graph_op)op)->kind != OPK_LEAF)
            names[n++] = op_row((enum graph_op)op)->name;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&text, "%s%s", i ? " " : "", names[i]);
    const char *kept = arena_strdup(a, text.buf);
    strbuf_release(&text);
    return kept;
}

static const char *op_type_words(const struct task *t, struct arena *a)
{
    char name[LESSON_NAME];
    lesson_make_name(t->op_type, name);
    return arena_strdup(a, name);
}

void task_traits(struct task_traits *out, const struct task *t, struct arena *a)
{
    struct graph g;
    bool has_graph = torch_read_task(&g, t, NULL) == 0;
    struct strbuf marks = STRBUF_INIT(1024), sizes = STRBUF_INIT(256);
    double sum[TRAITS_SIZES] = {0};
    unsigned shapes = 0;
    if (has_graph)
        graph_normalise(&g, NULL); /* too large a graph stays as it is */
    *out = (struct task_traits){.class = task_class_name(t->class), .ops = op_type_words(t, a)};
    vec_each (struct task_workload, w, &t->workloads) {
        struct arena mem = ARENA_INIT;
        struct shape s;
        struct mark mark;
        if (w->role == ROLE_TIME && shapes < TRAITS_MAX_MARKS &&
            shape_resolve(&s, t, w, 1, &mem, NULL) == 0) {
            if (has_graph)
                mark_graph(&g, s.axes, &mark);
            else
                mark_tensors(t, &s, &mark);
            strbuf_addf(&marks, "%s%.*s", shapes++ ? " " : "", TRAITS_MARK, mark.hex);
            add_sizes(t, &s, sum);
        }
        arena_release(&mem);
    }
    for (int i = 0; i < TRAITS_SIZES; i++)
        strbuf_addf(&sizes, "%s%.1f", i ? " " : "", sum[i] / MAX(shapes, 1));
    if (has_graph) {
        out->ops = op_names(&g, a);
        graph_release(&g);
    }
    out->marks = arena_strdup(a, marks.buf);
    out->sizes = arena_strdup(a, sizes.buf);
    strbuf_release(&marks);
    strbuf_release(&sizes);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool has_word(const char *list, const char *word, size_t n)
{
    for (const char *p = list; *p;) {
        size_t k = strcspn(p, " ");
        if (k == n && memcmp(p, word, n) == 0)
            return true;
        p += k + (p[k] == ' ');
    }
    return false;
}

/* Counts the words of `a`, and how many of them are also in `b`. */
static void count_words(const char *a, const char *b, unsigned *all, unsigned *common)
{
    *all = *common = 0;
    for (const char *p = a; *p;) {
        size_t k = strcspn(p, " ");
        *all += k > 0;
        *common += k > 0 && has_word(b, p, k);
        p += k + (p[k] == ' ');
    }
}

bool traits_share_mark(const char *a, const char *b)
{
    unsigned all, common;
    count_words(a, b, &all, &common);
    return common > 0;
}

static bool read_sizes(const char *text, double out[TRAITS_SIZES])
{
    for (int i = 0; i < TRAITS_SIZES; i++) {
        char *end;
        out[i] = strtod(text, &end);
        if (end == text || !(fabs(out[i]) <= 64))
            return false;
        text = end;
    }
    return true;
}

double traits_similarity(const char *ops_a, const char *sizes_a, const char *ops_b,
                         const char *sizes_b)
{
    /* How fast similarity falls with the difference in each of the five sizes (traits.h). The width
     * of elements has the largest rate, because another width needs other settings. A difference of
     * 1 in size i, which stands for a factor of 2, divides the similarity by exp(rate[i]). */
    static const double rate[TRAITS_SIZES] = {0.1, 0.3, 0.2, 0.7, 0.2};
    unsigned na, nb, common;
    double a[TRAITS_SIZES], b[TRAITS_SIZES], distance = 0;
    count_words(ops_b, ops_a, &nb, &common);
    count_words(ops_a, ops_b, &na, &common);
    double alike = na + nb > common ? (double)common / (double)(na + nb - common) : 1;
    if (!read_sizes(sizes_a, a) || !read_sizes(sizes_b, b))
        return 0.01;
    for (int i = 0; i < TRAITS_SIZES; i++)
        distance += rate[i] * fabs(a[i] - b[i]);
    return (0.3 + 0.7 * alike) * exp(-distance);
}
