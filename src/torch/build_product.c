/* build_product.c - builds matrix products, einsum, convolutions, attention, and rows by index. */
#include <string.h>

#include "base/util.h"
#include "torch/build.h"

/* ---- products -------------------------------------------------------------------------------- */

VALUE_BUILDER(build_matmul)
{
    const struct value *a = need_tensor(b, &arg[0], "input"), *c = need_tensor(b, &arg[1], "other");
    return op2(b, OP_MATMUL, a, c);
}

static const struct value *product_of_ranks(struct build *b, const struct object *arg, uint32_t p,
                                            uint32_t q, const char *name)
{
    const struct value *a = need_tensor(b, &arg[0], "input"), *c = need_tensor(b, &arg[1], "mat2");
    if (a && c && (a->rank != p || c->rank != q))
        return refuse_value(b, "%s takes tensors of %u and %u axes, not of %u and %u", name, p, q,
                            a->rank, c->rank);
    return op2(b, OP_MATMUL, a, c);
}

VALUE_BUILDER(build_mm)
{
    return product_of_ranks(b, arg, 2, 2, "mm");
}

VALUE_BUILDER(build_bmm)
{
    return product_of_ranks(b, arg, 3, 3, "bmm");
}

VALUE_BUILDER(build_mv)
{
    return product_of_ranks(b, arg, 2, 1, "mv");
}

VALUE_BUILDER(build_dot)
{
    const struct value *a = need_tensor(b, &arg[0], "input"),
                       *c = need_tensor(b, &arg[1], "tensor");
    if (a && c && (a->rank != 1 || c->rank != 1))
        return refuse_value(b, "dot takes vectors");
    const struct value *p = op2(b, OP_MUL, a, c);
    return p ? make_op(b, OP_SUM, &p, NO_MORE) : NULL;
}

/* Builds alpha * (mat1 @ mat2) + beta * input, for addmm and baddbmm. With beta = 0, PyTorch
 * ignores the input, so NaN and infinities in the input do not spread. */
VALUE_BUILDER(build_addmm)
{
    const struct value *a = need_value(b, &arg[0], "input"), *p = build_matmul(b, op, arg + 1);
    if (!a || !p)
        return NULL;
    if (!obj_is(&arg[4], 1))
        p = op2(b, OP_MUL, need_value(b, &arg[4], "alpha"), p);
    if (obj_is(&arg[3], 0))
        return p;
    if (!obj_is(&arg[3], 1))
        a = op2(b, OP_MUL, need_value(b, &arg[3], "beta"), a);
    return op2(b, OP_ADD, p, a);
}

VALUE_BUILDER(build_linear)
{
    const struct value *x = need_tensor(b, &arg[0], "input"),
                       *w = need_tensor(b, &arg[1], "weight"),
                       *bias = obj_is_none(&arg[2]) ? NULL : need_tensor(b, &arg[2], "bias");
    if (!x || !w || (!bias && !obj_is_none(&arg[2])))
        return NULL;
    if (w->rank != 1 && w->rank != 2)
        return refuse_value(b, "linear's weight has %u axes, not 1 or 2", w->rank);
    const struct value *p = op2(b, OP_MATMUL, x, w->rank == 2 ? build_t(b, op, arg + 1) : w);
    return bias ? op2(b, OP_ADD, p, bias) : p;
}

/* ---- einsum ---------------------------------------------------------------------------------- */

enum { MAX_LABELS = 16 };

struct labels {
    char s[MAX_LABELS + 1];
    size_t n;
};

static bool has_label(const struct labels *l, char c)
{
    return memchr(l->s, c, l->n) != NULL;
}

static size_t label_place(const struct labels *l, char c)
{
    return (size_t)((const char *)memchr(l->s, c, l->n) - l->s);
}

static bool add_label(struct build *b, struct labels *l, char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter || has_label(l, c) || l->n == GRAPH_MAX_RANK)
        return lacks(b, "einsum is supported only with distinct letters, at most %d for a tensor",
                     GRAPH_MAX_RANK);
    l->s[l->n++] = c;
    return true;
}

/* Returns the labels of `of` that pass two tests: if in_p is true, p must have the label, else p
 * must lack it; in_q says the same for q. */
static struct labels choose(const struct labels *of, const struct labels *p, bool in_p,
                            const struct labels *q, bool in_q)
{
    struct labels l = {.n = 0};
    for (size_t i = 0; i < of->n; i++)
        if (has_label(p, of->s[i]) == in_p && has_label(q, of->s[i]) == in_q)
            l.s[l.n++] = of->s[i];
    return l;
}

static struct labels join(const struct labels *a, const struct labels *c, const struct labels *d)
{
    struct labels l = {.n = 0};
    const struct labels *all[] = {a, c, d};
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < all[k]->n && l.n < MAX_LABELS; i++)
            l.s[l.n++] = all[k]->s[i];
    return l;
}

static const struct value *in_order(struct build *b, const struct value *v,
                                    const struct labels *has, const struct labels *want)
{
    int64_t axes[GRAPH_MAX_RANK] = {0};
    for (size_t i = 0; v && i < want->n; i++)
        axes[i] = (int64_t)label_place(has, want->s[i]);
    return v ? permute_to(b, v, axes) : NULL;
}

/* Sums v over the labels that `keep` lacks, and removes them from *l. */
static const struct value *sum_others(struct build *b, const struct value *v, struct labels *l,
                                      const struct labels *keep)
{
    int64_t axes[GRAPH_MAX_RANK];
    struct labels left = {.n = 0};
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (has_label(keep, l->s[i]))
            left.s[left.n++] = l->s[i];
        else
            axes[n++] = (int64_t)i;
    }
    *l = left;
    if (!n || !v)
        return v;
    struct attr dim = attr_axes(axes, n);
    return make_op(b, OP_SUM, &v, "dim", &dim, NO_MORE);
}

/* Writes the sizes of the axes with the labels `some` to `out`. `has` are the labels of v, one for
 * each axis. Returns how many sizes it wrote. */
static size_t label_sizes(const struct value *v, const struct labels *has,
                          const struct labels *some, const struct dim **out)
{
    for (size_t i = 0; i < some->n; i++)
        out[i] = v->shape[label_place(has, some->s[i])];
    return some->n;
}

static bool same_labels(struct build *b, const struct value *a, const struct labels *la,
                        const struct value *c, const struct labels *lc)
{
    for (size_t i = 0; i < la->n; i++) {
        if (!has_label(lc, la->s[i]))
            continue;
        const struct dim *p = a->shape[i], *q = c->shape[label_place(lc, la->s[i])];
        if (!dim_same(p, q))
            return refuse(b, "einsum's label '%c' has the sizes '%s' and '%s'", la->s[i], p->text,
                          q->text);
    }
    return true;
}

/* Computes the einsum of a and c with a matmul, which sums over the labels k. The labels form four
 * groups:
 * - batch: in both operands and in the result;
 * - m: in a and in the result, but not in c;
 * - n: in c and in the result, but not in a;
 * - k: in both operands, but not in the result. */
static const struct value *contracted(struct build *b, const struct value *a, struct labels la,
                                      const struct value *c, struct labels lc,
                                      const struct labels *out)
{
    struct labels keep_a = join(out, &lc, &(struct labels){.n = 0}),
                  keep_c = join(out, &la, &(struct labels){.n = 0});
    a = sum_others(b, a, &la, &keep_a);
    c = sum_others(b, c, &lc, &keep_c);
    struct labels batch = choose(out, &la, true, &lc, true), m = choose(out, &la, true, &lc, false),
                  n = choose(out, &la, false, &lc, true), k = choose(&la, &lc, true, out, false);
    struct labels oa = join(&batch, &m, &k), oc = join(&batch, &k, &n), got = join(&batch, &m, &n);
    a = in_order(b, a, &la, &oa);
    c = in_order(b, c, &lc, &oc);
    if (!a || !c)
        return NULL;
    const struct value *p;
    if (!m.n && !n.n) { /* multiply, then sum over k */
        p = op2(b, OP_MUL, a, c);
        return in_order(b, sum_others(b, p, &oa, &batch), &batch, out);
    }
    bool plain = k.n == 1 && n.n == 1 && (m.n == 1 || (!batch.n && m.n));
    if (plain)
        return in_order(b, op2(b, OP_MATMUL, a, c), &got, out);
    const struct dim *da[GRAPH_MAX_RANK], *dc[GRAPH_MAX_RANK], *ends[2 * GRAPH_MAX_RANK],
        *some[GRAPH_MAX_RANK];
    struct dim_pool *pool = &b->g->dims;
    size_t nb = label_sizes(a, &oa, &batch, da), all = nb;
    if (nb + 2 > GRAPH_MAX_RANK || got.n > GRAPH_MAX_RANK)
        return refuse_value(b, "einsum needs an intermediate value of more than %d axes",
                            GRAPH_MAX_RANK);
    if (!same_labels(b, a, &oa, c, &oc))
        return NULL;
    memcpy(dc, da, sizeof dc);
    memcpy(ends, da, sizeof da);
    all += label_sizes(a, &oa, &m, ends + all);
    all += label_sizes(c, &oc, &n, ends + all);
    da[nb] = dim_product(pool, some, label_sizes(a, &oa, &m, some));
    da[nb + 1] = dc[nb] = dim_product(pool, some, label_sizes(a, &oa, &k, some));
    dc[nb + 1] = dim_product(pool, some, label_sizes(c, &oc, &n, some));
    p = op2(b, OP_MATMUL, reshape_to(b, a, da, nb + 2), reshape_to(b, c, dc, nb + 2));
    return in_order(b, reshape_to(b, p, ends, all), &got, out);
}

const struct value *build_einsum(struct build *b, const char *spec, const struct object *operands,
                                 size_t n)
{
    struct labels in[2] = {{.n = 0}, {.n = 0}}, out = {.n = 0};
    const struct value *v[2] = {NULL, NULL};
    size_t at = 0;
    const char *arrow = strstr(spec, "->");
    if (!arrow || n < 1 || n > 2)
        return lacks_value(
            b, "einsum is supported only for one or two tensors, with '->' and a result");
    for (const char *s = spec; s < arrow; s++) {
        if (*s == ' ')
            continue;
        if (*s == ',' && ++at < n)
            continue;
        if (at >= n)
            return refuse_value(b, "einsum names more tensors than it is given");
        if (!add_label(b, &in[at], *s))
            return NULL;
    }
    for (const char *s = arrow + 2; *s; s++)
        if (*s != ' ' && !add_label(b, &out, *s))
            return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!(v[i] = need_tensor(b, &operands[i], "operand")))
            return NULL;
        if (v[i]->rank != in[i].n)
            return refuse_value(b, "einsum names %zu axes, but the tensor has %u", in[i].n,
                                v[i]->rank);
    }
    for (size_t i = 0; i < out.n; i++)
        if (!has_label(&in[0], out.s[i]) && !has_label(&in[1], out.s[i]))
            return refuse_value(b, "einsum's result has the label '%c', which no tensor has",
                                out.s[i]);
    if (n == 2)
        return contracted(b, v[0], in[0], v[1], in[1], &out);
    v[0] = sum_others(b, v[0], &in[0], &out);
    return in_order(b, v[0], &in[0], &out);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Sets out[i] to the number for axis i. `o` is one number for all axes, or a tuple. */
static bool each_axis(struct build *b, const struct object *o, const char *name, size_t axes,
                      const struct object **out)
{
    if (o->kind == OBJ_TUPLE && o->n != axes && o->n != 1)
        return refuse(b, "'%s' has %zu numbers for %zu axes", name, o->n, axes);
    for (size_t i = 0; i < axes; i++)
        out[i] = o->kind != OBJ_TUPLE ? o : &o->items[o->n == 1 ? 0 : i];
    return true;
}

static bool spatial(struct build *b, const struct object *o, const char *name, size_t axes,
                    struct attr *out)
{
    const struct object *all[GRAPH_MAX_RANK];
    int64_t v[GRAPH_MAX_RANK];
    if (!each_axis(b, o, name, axes, all))
        return false;
    for (size_t i = 0; i < axes; i++) {
        if (!need_whole(b, all[i], name, &v[i]))
            return false;
        if (v[i] < 1 || v[i] > 65536)
            return refuse(b, "'%s' must be at least 1 and at most 65536", name);
    }
    *out = attr_ints(v, axes);
    return true;
}

/* Sets before[i] and after[i] to the padding of axis i. If padding='same' needs an odd number of
 * elements, the extra one comes after the input. */
static bool padding_of(struct build *b, const struct object *o, size_t axes, const struct value *w,
                       const struct attr *dilation, const struct attr *stride,
                       const struct dim **before, const struct dim **after)
{
    struct dim_pool *pool = &b->g->dims;
    const struct object *all[GRAPH_MAX_RANK], zero = obj_number(b, 0);
    bool same = obj_is_text(o, "same");
    if (o->kind == OBJ_TEXT && !same && !obj_is_text(o, "valid"))
        return refuse(b, "'padding' must be a number, a tuple, 'same' or 'valid'");
    if (!each_axis(b, o->kind == OBJ_TEXT ? &zero : o, "padding", axes, all))
        return false;
    for (size_t i = 0; i < axes; i++) {
        if (!same) {
            if (!(before[i] = after[i] = need_dim(b, all[i], "padding")))
                return false;
            if (before[i]->is_number && (before[i]->value < 0 || before[i]->value > 65536))
                return refuse(b, "'padding' must be at least 0 and at most 65536");
            continue;
        }
        if (stride->ints[i] != 1)
            return refuse(b, "padding='same' needs a stride of 1");
        const struct dim *reach = dim_mul(pool, dim_number(pool, dilation->ints[i]),
                                          dim_sub(pool, w->shape[2 + i], dim_number(pool, 1)));
        reach = reach->fixed ? reach->fixed : reach;
        before[i] = dim_div(pool, reach, dim_number(pool, 2));
        after[i] = dim_sub(pool, reach, before[i]);
    }
    return true;
}

/* Parameters: input weight bias stride padding dilation groups. */
static const struct value *conv(struct build *b, const struct object *arg, size_t axes)
{
    const struct value *x = need_tensor(b, &arg[0], "input"),
                       *w = need_tensor(b, &arg[1], "weight"),
                       *bias = obj_is_none(&arg[2]) ? NULL : need_tensor(b, &arg[2], "bias");
    const struct dim *before[GRAPH_MAX_RANK], *after[GRAPH_MAX_RANK], *groups;
    struct attr stride, dilation;
    if (!x || !w || (!bias && !obj_is_none(&arg[2])))
        return NULL;
    if (x->rank != axes + 2 || w->rank != axes + 2)
        return refuse_value(b, "conv%zud takes an input and a weight of %zu axes, not %u and %u",
                            axes, axes + 2, x->rank, w->rank);
    if (!spatial(b, &arg[3], "stride", axes, &stride) ||
        !spatial(b, &arg[5], "dilation", axes, &dilation) ||
        !padding_of(b, &arg[4], axes, w, &dilation, &stride, before, after) ||
        !(groups = need_dim(b, &arg[6], "groups")))
        return NULL;
    if (groups->is_number && groups->value < 1)
        return refuse_value(b, "'groups' must be at least 1");
    struct attr from = attr_dims(before, axes), to = attr_dims(after, axes), by = attr_dim(groups);
    const struct value *args[] = {x, w, bias};
    return make_op(b, OP_CONV, args, "stride", &stride, "dilation", &dilation, "before", &from,
                   "after", &to, "groups", &by, NO_MORE);
}

VALUE_BUILDER(build_conv1d)
{
    return conv(b, arg, 1);
}

VALUE_BUILDER(build_conv2d)
{
    return conv(b, arg, 2);
}

VALUE_BUILDER(build_conv3d)
{
    return conv(b, arg, 3);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Repeats each head of key and value for its group of heads of the query. */
static bool repeat_heads(struct build *b, const struct value **args)
{
    for (size_t i = 1; i < 3; i++) {
        const struct value *v = args[i];
        if (args[0]->rank < 3 || v->rank < 3)
            return refuse(b, "enable_gqa needs tensors of at least 3 axes");
        const struct dim *heads = args[0]->shape[args[0]->rank - 3], *own = v->shape[v->rank - 3],
                         *times = dim_div(&b->g->dims, heads, own);
        if (!dim_same(dim_mul(&b->g->dims, times, own), heads))
            return lacks(b, "enable_gqa: '%s' heads are not known to be a multiple of '%s'",
                         heads->text, own->text);
        const struct object repeat[] = {
            {.kind = OBJ_VALUE, .value = v}, obj_int(times), obj_number(b, -3)};
        if (!(args[i] = build_repeat_interleave(b, OP_EXPAND, repeat)))
            return false;
    }
    return true;
}

/* Parameters: query key value attn_mask dropout_p is_causal scale enable_gqa. */
VALUE_BUILDER(build_attention)
{
    const struct value *args[5] = {need_tensor(b, &arg[0], "query"), need_tensor(b, &arg[1], "key"),
                                   need_tensor(b, &arg[2], "value"), NULL, NULL};
    bool is_causal, grouped;
    if (!args[0] || !args[1] || !args[2] || !need_bool(b, &arg[5], "is_causal", &is_causal))
        return NULL;
    if (!obj_is_none(&arg[3]) && !(args[3] = need_tensor(b, &arg[3], "attn_mask")))
        return NULL;
    if (!obj_is_none(&arg[6]) && !(args[4] = need_value(b, &arg[6], "scale")))
        return NULL;
    if (!obj_is(&arg[4], 0))
        return lacks_value(b, "attention with dropout is not supported");
    if (!need_bool(b, &arg[7], "enable_gqa", &grouped) || (grouped && !repeat_heads(b, args)))
        return NULL;
    struct attr causal = attr_bool(is_causal);
    return make_op(b, OP_ATTENTION, args, "causal", &causal, NO_MORE);
}

/* ---- by index -------------------------------------------------------------------------------- */

static const struct value *rows(struct build *b, const struct value *table,
                                const struct value *index, int64_t axis)
{
    if (!table || !index)
        return NULL;
    struct attr dim = attr_axis(axis);
    const struct value *args[] = {table, index_source(index)};
    return make_op(b, OP_INDEX_SELECT, args, "dim", &dim, NO_MORE);
}

/* Parameters: input weight padding_idx max_norm norm_type scale_grad_by_freq sparse. */
VALUE_BUILDER(build_embedding)
{
    if (!obj_is_none(&arg[3]))
        return lacks_value(b, "embedding with max_norm is not supported");
    const struct value *table = need_tensor(b, &arg[1], "weight");
    if (table && table->rank != 2)
        return refuse_value(b, "embedding's weight has %u axes, not 2", table->rank);
    return rows(b, table, need_tensor(b, &arg[0], "input"), 0);
}

VALUE_BUILDER(build_index_select)
{
    const struct value *a = need_tensor(b, &arg[0], "input"),
                       *index = need_tensor(b, &arg[2], "index");
    int64_t axis;
    if (!a || !index || !need_axis(b, &arg[1], a->rank, &axis))
        return NULL;
    if (!a->rank || index->rank != 1)
        return refuse_value(
            b, "index_select takes a tensor of at least one axis, and a vector of indices");
    return rows(b, a, index, axis);
}

/* Parameters: input dim index sparse_grad. */
VALUE_BUILDER(build_gather)
{
    const struct value *a = need_tensor(b, &arg[0], "input"),
                       *index = need_tensor(b, &arg[2], "index");
    int64_t axis;
    if (!a || !index || !need_axis(b, &arg[1], a->rank, &axis))
        return NULL;
    if (!a->rank || index->rank != a->rank)
        return refuse_value(b, "gather takes an input and an index of as many axes, not %u and %u",
                            a->rank, index->rank);
    for (uint32_t i = 0; i < a->rank; i++)
        if ((int64_t)i != axis && !size_at_most(b, index->shape[i], a->shape[i]))
            return refuse_value(b, "gather: the index has the size '%s' where the input has '%s'",
                                index->shape[i]->text, a->shape[i]->text);
    struct attr dim = attr_axis(axis);
    const struct value *args[] = {a, index_source(index)};
    return make_op(b, OP_GATHER, args, "dim", &dim, NO_MORE);
}

VALUE_BUILDER(build_index_add)
{
    const struct value *a = need_tensor(b, &arg[0], "input"),
                       *index = need_tensor(b, &arg[2], "index"),
                       *source = need_tensor(b, &arg[3], "source");
    int64_t axis;
    if (!a || !index || !source || !need_axis(b, &arg[1], a->rank, &axis))
        return NULL;
    if (!a->rank)
        return refuse_value(b, "index_add takes a tensor of at least one axis");
    if (!obj_is(&arg[4], 1))
        source = op2(b, OP_MUL, need_value(b, &arg[4], "alpha"), source);
    struct attr dim = attr_axis(axis);
    const struct value *args[] = {a, index_source(index), source};
    return source ? make_op(b, OP_INDEX_ADD, args, "dim", &dim, NO_MORE) : NULL;
}

/* Parameters: input weight offsets max_norm norm_type scale_grad_by_freq mode sparse
 * per_sample_weights include_last_offset padding_idx. */
VALUE_BUILDER(build_embedding_bag)
{
    const struct value *index = need_tensor(b, &arg[0], "input"),
                       *w = need_tensor(b, &arg[1], "weight"),
                       *offsets = need_tensor(b, &arg[2], "offsets");
    if (!index || !w || !offsets)
        return NULL;
    if (!obj_is_none(&arg[3]) || !obj_is_none(&arg[8]) || !obj_is_none(&arg[10]))
        return lacks_value(b, "embedding_bag with max_norm, per_sample_weights or padding_idx is "
                              "not supported");
    if (!obj_is(&arg[9], 1))
        return lacks_value(b, "embedding_bag is supported only with include_last_offset=True");
    if (arg[6].kind != OBJ_TEXT)
        return refuse_value(b, "embedding_bag's mode must be 'sum', 'mean' or 'max'");
    struct attr mode = attr_text(arg[6].text);
    const struct value *args[] = {index_source(index), w, index_source(offsets)};
    return make_op(b, OP_EMBEDDING_BAG, args, "mode", &mode, NO_MORE);
}
