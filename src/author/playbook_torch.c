#include "author/playbook_torch.h"

#include <stdlib.h>
#include <string.h>

#include "author/playbook_read.h"
#include "base/util.h"

/* Reads a whole text by `read`; a refusal always has its reason. */
static bool read_all(struct reader *r, bool (*read)(struct reader *, struct strbuf *),
                     struct strbuf *out)
{
    bool fits = strlen(r->s) <= TORCH_MAX_TEXT;
    if (fits && read(r, out) && reader_ends(r))
        return true;
    if (!r->why->len)
        strbuf_adds(r->why, "its PyTorch expression is too long for a playbook");
    return false;
}

bool torch_to_c(const char *text, const struct torch_names *names, struct strbuf *out,
                enum dtype *type, struct strbuf *why)
{
    struct reader r = {.s = text, .names = names, .why = why};
    bool ok = read_all(&r, reader_expression, out);
    *type = r.type.dtype;
    return ok;
}

/* ---- a product of matrices ------------------------------------------------------------------- */

/* .T and .t() turn matrices, not batches of them. */
static bool turn(struct torch_gemm *g, int last_axis)
{
    bool same = !g->turned_axis || !last_axis || g->turned_axis == last_axis;
    g->turned_axis = last_axis ? last_axis : g->turned_axis;
    return same;
}

/* .transpose(A, B) of the last two axes; how much of the text that is, or 0. *last_axis is the last
 * one's number, if it was named by that. */
static size_t transposes(const char *s, int *last_axis)
{
    const char *at = s;
    long axes[2];
    if (!text_take(&at, ".transpose("))
        return 0;
    for (int i = 0; i < 2; i++) {
        char *end;
        axes[i] = strtol(at, &end, 10);
        bool number = end != at;
        at = end;
        if (!number || !text_take(&at, i ? ")" : ","))
            return 0;
    }
    long low = MIN(axes[0], axes[1]), high = MAX(axes[0], axes[1]);
    bool by_number = low >= 0 && low < TORCH_MAX_RANK && high == low + 1;
    if (!by_number && !(low == -2 && high == -1))
        return 0;
    *last_axis = by_number ? (int)high : 0;
    return (size_t)(at - s);
}

/* An input, perhaps transposed (its last two axes); casts do not matter. */
static bool matrix(struct reader *r, struct torch_gemm *g, size_t *input, bool *transposed)
{
    static const struct {
        const char *text;
        int last_axis;
    } turns[] = {{".T", 1}, {".mT", 0}, {".t()", 1}};
    static const char *const casts[] = {".float()", ".half()", ".bfloat16()", ".contiguous()"};
    reader_blanks(r);
    size_t n = text_word(r->s), i = 0;
    while (i < r->names->tensors && !text_is(r->s, n, r->names->names[i]))
        i++;
    if (!n || i == r->names->tensors)
        return false;
    r->s += n;
    *input = i;
    for (bool more = true; more;) {
        int last_axis = 0;
        size_t len = transposes(r->s, &last_axis);
        for (size_t k = 0; k < ARRAY_LEN(turns) && !len; k++)
            if (str_starts(r->s, turns[k].text) && !text_word(r->s + strlen(turns[k].text))) {
                len = strlen(turns[k].text);
                last_axis = turns[k].last_axis;
            }
        if (len && !turn(g, last_axis))
            return false;
        *transposed ^= len > 0;
        r->s += len;
        more = len > 0;
        for (size_t k = 0; k < ARRAY_LEN(casts) && !more; k++)
            more = reader_take(r, casts[k]);
    }
    return true;
}

/* F.linear's third argument, if there is one. */
static bool linear_bias(struct reader *r, struct strbuf *bias)
{
    if (!reader_take(r, ","))
        return true;
    reader_take(r, "bias=");
    return reader_take(r, "None") || reader_expression(r, bias);
}

bool reader_product(struct reader *r, struct strbuf *out)
{
    static const char *const calls[] = {"torch.matmul(", "torch.mm(", "torch.bmm("};
    static const char *const linears[] = {"torch.nn.functional.linear(", "F.linear("};
    struct reader start = *r;
    struct torch_gemm before = *r->gemm, g = before;
    bool call = false, linear = false, ok;
    for (size_t i = 0; i < ARRAY_LEN(calls) && !call; i++)
        call = reader_take(r, calls[i]);
    for (size_t i = 0; i < ARRAY_LEN(linears) && !call; i++)
        call = linear = reader_take(r, linears[i]);
    g.a_turned = g.b_turned = false;
    ok = !g.found && matrix(r, &g, &g.a, &g.a_turned) && reader_take(r, call ? "," : "@") &&
         matrix(r, &g, &g.b, &g.b_turned);
    g.b_turned ^= linear;
    g.found = true;
    struct strbuf bias = STRBUF_INIT(MAX_C);
    if (ok)
        r->gemm->found = true; /* a bias holds no second one */
    ok = ok && (!linear || linear_bias(r, &bias));
    if (call)
        ok = ok && reader_take(r, ")");
    else if (ok && (reader_take(r, "**") || reader_take(r, ".") || reader_take(r, "[") ||
                    reader_take(r, "@")))
        ok = false;
    if (ok) {
        g.expr = r->gemm->expr;
        *r->gemm = g;
        r->bare = !call;
        r->type = (struct value_type){VALUE_REAL, DT_F32, false};
        strbuf_addf(out, bias.len ? "(v + %s)" : "v", bias.buf);
    } else {
        *r = start;
        r->gemm->found = before.found;
    }
    strbuf_release(&bias);
    return ok;
}

bool torch_to_gemm(const char *text, const struct torch_names *names, struct torch_gemm *out,
                   struct strbuf *why)
{
    struct reader r = {.s = text, .names = names, .why = why, .gemm = out};
    struct strbuf expr = STRBUF_INIT(MAX_C);
    bool ok = read_all(&r, reader_expression, &expr);
    if (ok && !out->found)
        ok = reader_refuse(&r, "no product of two matrices in", text, strlen(text));
    strbuf_adds(&out->expr, expr.buf);
    strbuf_release(&expr);
    return ok;
}

/* ---- along axes ------------------------------------------------------------------------------ */

static const struct reduction {
    const char *torch, *name;
    bool pair; /* with a dim it gives values and indices */
} reductions[] = {{"sum", "sum", false},          {"mean", "mean", false},
                  {"amax", "max", false},         {"max", "max", true},
                  {"amin", "min", false},         {"min", "min", true},
                  {"prod", "prod", false},        {"norm", "norm", false},
                  {"vector_norm", "norm", false}, {"argmax", "argmax", false},
                  {"argmin", "argmin", false},    {"var", "var", false},
                  {"std", "std", false},          {"logsumexp", "logsumexp", false},
                  {"softmax", "softmax", false},  {"log_softmax", "log_softmax", false},
                  {"softmin", "softmin", false},  {"cumsum", "cumsum", false},
                  {"cumprod", "cumprod", false},  {"cummax", "cummax", true},
                  {"cummin", "cummin", true},     {"any", "any", false},
                  {"all", "all", false}};

static const struct reduction *find_reduction(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(reductions); i++)
        if (text_is(s, len, reductions[i].torch))
            return &reductions[i];
    return NULL;
}

/* An axis, or several that lie side by side in brackets. */
static bool axes(struct reader *r, size_t rank, struct torch_rows *out)
{
    bool list = reader_take(r, "(") || reader_take(r, "["), first = true;
    do {
        reader_blanks(r);
        char *end;
        long axis = strtol(r->s, &end, 10);
        if (end == r->s)
            return false;
        axis += axis < 0 ? (long)rank : 0;
        if (axis < 0 || axis >= (long)rank || (!first && axis != (long)out->to))
            return false;
        r->s = end;
        out->from = first ? (size_t)axis : out->from;
        out->to = (size_t)axis + 1;
        first = false;
    } while (list && reader_take(r, ",") && *r->s != ')');
    return !list || reader_take(r, ")") || reader_take(r, "]");
}

/* The arguments after the values. */
struct rest {
    bool dim;         /* it is given */
    bool order;       /* so is a norm's, and it is 2 */
    bool uncorrected; /* var, std: divided by n, not n - 1 */
    bool corrected;   /* whether they are is said */
    bool whole;       /* the values are no floats */
};

static bool take_key(struct reader *r, const char *key)
{
    const char *at = r->s;
    if (reader_take(r, key) && reader_take(r, "="))
        return true;
    r->s = at;
    return false;
}

static bool take_bool(struct reader *r, bool *out)
{
    *out = reader_take(r, "True");
    return *out || reader_take(r, "False");
}

/* KEY=VALUE, or a bool without its key; 0 if it is neither. */
static int named_rest(struct reader *r, const struct reduction *f, struct rest *x)
{
    bool spread = str_eq(f->name, "var") || str_eq(f->name, "std"), yes = false;
    if (take_key(r, "keepdim")) /* the task's shape says */
        return take_bool(r, &yes) ? 1 : -1;
    if (take_key(r, "dtype")) { /* likewise */
        bool ok = reader_take(r, "torch.");
        size_t n = text_word(r->s);
        ok = ok && (x->whole || dtype_is_float(torch_dtype(r->s, n))); /* it would cut them off */
        r->s += n;
        return ok ? 1 : -1;
    }
    if (spread && take_key(r, "correction")) {
        x->uncorrected = reader_take(r, "0");
        return x->uncorrected || reader_take(r, "1") ? 1 : -1;
    }
    bool by_key = spread && take_key(r, "unbiased");
    if (!by_key && !x->dim)
        return 0;
    if (!take_bool(r, &yes))
        return by_key ? -1 : 0;
    if (by_key || (spread && !x->corrected))
        x->uncorrected = !yes, x->corrected = true;
    return 1;
}

/* A norm's order comes first, the axes follow. */
static bool order_or_axes(struct reader *r, const struct reduction *f, size_t rank, struct rest *x,
                          struct torch_rows *out)
{
    bool norm = str_eq(f->name, "norm"), by_key = take_key(r, "dim") || take_key(r, "axis");
    bool key = norm && !by_key && (take_key(r, "p") || take_key(r, "ord"));
    if (norm && !by_key && !x->order && (key || !x->dim)) {
        char *end;
        double order = strtod(r->s, &end);
        x->order = end != r->s && order == 2.0;
        r->s = end;
        return x->order;
    }
    if (x->dim || key || !axes(r, rank, out))
        return false;
    x->dim = true;
    return true;
}

static bool read_rest(struct reader *r, const struct reduction *f, size_t rank, struct rest *x,
                      struct torch_rows *out)
{
    for (bool more = !reader_take(r, ")"); more;) {
        reader_blanks(r);
        const char *at = r->s;
        int named = named_rest(r, f, x);
        if (named < 0 || (named == 0 && !order_or_axes(r, f, rank, x, out)))
            return reader_refuse(r,
                                 *at == '(' ? "axes that do not lie side by side," : "the option",
                                 at, *at == '(' ? strcspn(at, ")") + 1 : strcspn(at, ",)"));
        more = reader_take(r, ",");
        if (!more && !reader_take(r, ")"))
            return reader_refuse(r, "something unexpected at", r->s, 16);
    }
    return true;
}

/* What follows the values, then ")", and nothing else but a pair's choice. With no axis everything
 * is reduced. */
static bool reduction_ends(struct reader *r, const struct reduction *f, size_t rank, bool matrices,
                           struct torch_rows *out)
{
    struct rest x = {.whole = !dtype_is_float(out->type)};
    if (!read_rest(r, f, rank, &x, out))
        return false;
    bool spread = str_eq(f->name, "var") || str_eq(f->name, "std");
    out->name = !spread || !x.uncorrected ? f->name : str_eq(f->name, "var") ? "pvar" : "pstd";
    out->whole = !x.dim;
    if (!x.dim) {
        out->from = 0;
        out->to = rank;
    }
    if (!x.dim && (strstr(f->name, "softm") || str_starts(f->name, "cum")))
        return reader_refuse(r, "no axis for", f->torch, strlen(f->torch));
    if (matrices && x.order && out->to - out->from != 1) /* the largest singular value */
        return reader_refuse(r, "a norm of matrices,", f->torch, strlen(f->torch));
    if (f->pair && x.dim && !reader_take(r, ".values") && !reader_take(r, "[0]"))
        return reader_refuse(r, "both values and indices of", f->torch, strlen(f->torch));
    return reader_ends(r);
}

/* torch.NAME(VALUES, ...) */
static bool reduce_as_function(struct reader *r, size_t rank, struct torch_rows *out)
{
    bool linalg = reader_take(r, "torch.linalg.");
    if (!linalg && !reader_take(r, "torch.nn.functional.") && !reader_take(r, "torch.") &&
        !reader_take(r, "F."))
        return false;
    size_t n = text_word(r->s);
    const struct reduction *f = find_reduction(r->s, n);
    if (!f)
        return false;
    r->s += n;
    if (!reader_take(r, "(") || !reader_expression(r, &out->expr))
        return reader_refuse(r, "something unexpected at", r->s, 16);
    out->type = r->type.dtype;
    reader_take(r, ",");
    return reduction_ends(r, f, rank, linalg && str_eq(f->torch, "norm"), out);
}

/* VALUES.NAME(...), where VALUES binds as tightly as the method: a name, a call, in brackets. */
static bool reduce_as_method(struct reader *r, size_t rank, struct torch_rows *out)
{
    const char *dot = NULL, *start = r->s;
    const struct reduction *f = NULL;
    for (const char *s = start; *s; s++) {
        bool module = s >= start + 5 && memcmp(s - 5, "torch", 5) == 0;
        size_t n = *s == '.' && !module ? text_word(s + 1) : 0;
        const struct reduction *last = n && s[1 + n] == '(' ? find_reduction(s + 1, n) : NULL;
        if (last) {
            f = last;
            dot = s;
        }
    }
    if (!dot)
        return reader_refuse(r, "no reduction that is known, in", start, strlen(start));
    char *values = xstrndup(start, (size_t)(dot - start));
    struct reader inner = *r;
    inner.s = values;
    bool ok = reader_primary(&inner, &out->expr);
    out->type = inner.type.dtype;
    reader_blanks(&inner);
    if (ok && *inner.s)
        ok = reader_refuse(r, "more than a reduction, at", inner.s, strlen(inner.s));
    free(values);
    if (!ok)
        return false;
    r->s = dot + 1 + strlen(f->torch) + 1;
    return reduction_ends(r, f, rank, false, out);
}

bool torch_to_rows(const char *text, const struct torch_names *names, size_t rank,
                   struct torch_rows *out, struct strbuf *why)
{
    struct reader r = {.s = text, .names = names, .why = why};
    bool ok = false;
    if (strlen(text) <= TORCH_MAX_TEXT) {
        reader_blanks(&r);
        ok = reduce_as_function(&r, rank, out);
        if (!ok && !why->len) {
            r.s = text;
            strbuf_clear(&out->expr);
            ok = reduce_as_method(&r, rank, out);
        }
    }
    if (!ok && !why->len)
        strbuf_adds(why, "its PyTorch expression is too long for a playbook");
    return ok;
}

/* ---- permutations of axes -------------------------------------------------------------------- */

static size_t numbers(struct reader *r, size_t rank, size_t *out)
{
    bool list = reader_take(r, "(") || reader_take(r, "[");
    size_t n = 0;
    do {
        reader_blanks(r);
        char *end;
        long v = strtol(r->s, &end, 10);
        v += v < 0 ? (long)rank : 0;
        if (end == r->s || v < 0 || v >= (long)rank || n == rank)
            return 0;
        r->s = end;
        out[n++] = (size_t)v;
    } while (reader_take(r, ","));
    return !list || reader_take(r, ")") || reader_take(r, "]") ? n : 0;
}

/* "permute", "transpose" and so on, at what follows "(": the axes, then ")". */
static bool permuted(struct reader *r, bool swaps, size_t rank, size_t *perm)
{
    size_t axes[TORCH_MAX_RANK], n = numbers(r, rank, axes), old[TORCH_MAX_RANK];
    memcpy(old, perm, sizeof old);
    bool seen[TORCH_MAX_RANK] = {false};
    for (size_t i = 0; i < n; i++) {
        if (seen[axes[i]] && !swaps)
            return false;
        seen[axes[i]] = true;
    }
    if (n != (swaps ? 2 : rank) || !reader_take(r, ")"))
        return false;
    for (size_t i = 0; i < rank && !swaps; i++)
        perm[i] = old[axes[i]];
    if (swaps) {
        perm[axes[0]] = old[axes[1]];
        perm[axes[1]] = old[axes[0]];
    }
    return true;
}

bool torch_to_permutation(const char *text, const char *name, size_t rank, size_t *perm,
                          struct strbuf *why)
{
    static const struct {
        const char *name;
        bool swaps;
    } calls[] = {
        {"permute(", false}, {"transpose(", true}, {"swapaxes(", true}, {"swapdims(", true}};
    struct reader r = {.s = text, .why = why};
    bool ok = rank >= 1 && rank <= TORCH_MAX_RANK, function = false, swaps = false;
    for (size_t i = 0; ok && i < rank; i++)
        perm[i] = i;
    if (reader_take(&r, "torch.")) {
        for (size_t i = 0; i < ARRAY_LEN(calls) && !function; i++) {
            function = reader_take(&r, calls[i].name);
            swaps = calls[i].swaps;
        }
        ok = ok && function;
    }
    reader_blanks(&r);
    size_t n = text_word(r.s);
    ok = ok && text_is(r.s, n, name);
    r.s += ok ? n : 0;
    if (ok && function)
        ok = reader_take(&r, ",") && permuted(&r, swaps, rank, perm);
    while (ok && reader_take(&r, ".")) {
        bool done = reader_take(&r, "contiguous()") || reader_take(&r, "clone()");
        if (!done && rank >= 2 &&
            (reader_take(&r, "mT") ||
             (rank == 2 && (reader_take(&r, "t()") || reader_take(&r, "T"))))) {
            size_t last = perm[rank - 1];
            perm[rank - 1] = perm[rank - 2];
            perm[rank - 2] = last;
            done = true;
        }
        for (size_t i = 0; i < ARRAY_LEN(calls) && !done; i++)
            if (reader_take(&r, calls[i].name)) {
                done = permuted(&r, calls[i].swaps, rank, perm);
                break;
            }
        ok = done;
    }
    reader_blanks(&r);
    return (ok && !*r.s) ||
           reader_refuse(&r, "more than a permutation of axes, at", r.s, strlen(r.s));
}
