/* playbook_gemm.c - products of matrices with an epilogue, as a task's PyTorch expression has them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_torch.h"
#include "base/util.h"

static const json_t *tensor_at(const json_t *task, size_t i)
{
    return json_array_get(json_object_get(task, "tensors"), i);
}

static const json_t *shape_of(const json_t *tensor)
{
    return json_object_get(tensor, "shape");
}

static const char *dim_at(const json_t *tensor, size_t i)
{
    return json_string_value(json_array_get(shape_of(tensor), i));
}

/* Has it the last dimension of `c`, and none but ones before it? */
static bool is_row(const json_t *t, const json_t *c)
{
    size_t n = json_array_size(shape_of(t)), nc = json_array_size(shape_of(c));
    for (size_t i = 0; i + 1 < n; i++)
        if (!same_text(dim_at(t, i), "1"))
            return false;
    return n && n <= nc && same_text(dim_at(t, n - 1), dim_at(c, nc - 1));
}

static bool is_one(const json_t *t)
{
    for (size_t i = 0; i < json_array_size(shape_of(t)); i++)
        if (!same_text(dim_at(t, i), "1"))
            return false;
    return true;
}

/* Has it one value for each of the channels, the second dimension of `c`? */
static bool is_channel(const json_t *t, const json_t *c)
{
    size_t n = json_array_size(shape_of(t)), nc = json_array_size(shape_of(c));
    if (n > nc || nc < 2 || n + 1 < nc)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t of_c = nc - n + i;
        if (!same_text(dim_at(t, i), of_c == 1 ? dim_at(c, 1) : "1"))
            return false;
    }
    return true;
}

/* The value v<i> that begins here; none if nothing does. */
static size_t value_at(const char *expr, const char *s, size_t none, const char **end)
{
    bool begins = s[0] == 'v' && isdigit((unsigned char)s[1]) &&
                  (s == expr || !(s[-1] == '_' || isalnum((unsigned char)s[-1])));
    char *stop = NULL;
    size_t i = begins ? strtoul(s + 1, &stop, 10) : none;
    *end = stop;
    return i;
}

static bool mentions(const char *expr, size_t i)
{
    const char *end;
    for (const char *s = expr; *s; s++)
        if (value_at(expr, s, SIZE_MAX, &end) == i)
            return true;
    return false;
}

static bool is_output(const json_t *task, size_t i)
{
    return json_is_true(json_object_get(tensor_at(task, i), "output"));
}

/* Where input i has the value of an element: its index in the template; NULL if it has none. */
static const char *place_of(const json_t *task, const struct epilogue *e, size_t i)
{
    const json_t *t = tensor_at(task, i), *c = tensor_at(task, values_of(task).inputs);
    bool along_n = e->rows ? is_row(t, c) : is_channel(t, c);
    return is_one(t) ? "0" : along_n ? "n" : same_shape(shape_of(t), shape_of(c)) ? "at" : NULL;
}

/* The epilogue's expression with its values where they are: v2 becomes float(e.v2[n]). */
static void place_values(const struct epilogue *e, const struct values *v, const json_t *task,
                         struct strbuf *out)
{
    for (const char *s = e->expr, *end; *s;) {
        size_t i = value_at(e->expr, s, SIZE_MAX, &end);
        if (i == e->product && i != SIZE_MAX) {
            strbuf_adds(out, "v");
            s = end;
        } else if (i >= v->n) {
            strbuf_addc(out, *s++);
        } else {
            if (i >= v->inputs)
                strbuf_addf(out, "e.v%zu", i);
            else
                strbuf_addf(out, "%s(e.v%zu[%s])", torch_value_type(v->types[i]), i,
                            place_of(task, e, i));
            s = end;
        }
    }
}

bool bind_epilogue(struct pb_binding *b, const json_t *task, const struct epilogue *e,
                   struct strbuf *why)
{
    struct values v = values_of(task);
    struct strbuf fields = STRBUF_INIT(4096), params = STRBUF_INIT(4096), args = STRBUF_INIT(4096),
                  data = STRBUF_INIT(1024), expr = STRBUF_INIT(32 << 10);
    bool ok = true, reads = false;
    for (size_t i = 0; ok && i < v.n; i++) {
        if (!mentions(e->expr, i)) {
            ok = i == e->used[0] || i == e->used[1] || i >= v.inputs;
            if (!ok)
                strbuf_addf(why, "its PyTorch expression does not use '%s'", v.names[i]);
            continue;
        }
        bool in = i < v.inputs;
        enum dtype d = v.types[i];
        const char *type = !in ? torch_value_type(d) : c_type(d) ? c_type(d) : "";
        ok = !in || (*type && place_of(task, e, i) && !is_output(task, i));
        if (!ok)
            strbuf_addf(why, "'%s' is no input like the result, nor one value for each %s",
                        v.names[i], e->rows ? "column" : "channel");
        reads |= in;
        strbuf_addf(&fields, "%s%s%s %sv%zu;", fields.len ? "\n    " : "", in ? "const " : "", type,
                    in ? "*" : "", i);
        strbuf_addf(&params, "%s%s %sv%zu, ", in ? "const " : "", type, in ? "*" : "", i);
        strbuf_addf(&args, "\"%s\", ", v.names[i]);
        strbuf_addf(&data, "%sv%zu", data.len ? ", " : "", i);
    }
    if (ok)
        place_values(e, &v, task, &expr);
    const struct {
        const char *key, *text;
    } texts[] = {{"fields", fields.buf}, {"params", params.buf},
                 {"extra", args.buf},    {"data", data.buf},
                 {"epilogue", expr.buf}, {"reads", reads ? "true" : "false"}};
    for (size_t i = 0; ok && i < ARRAY_LEN(texts); i++)
        bind_text(b, texts[i].key, texts[i].text);
    strbuf_release(&fields);
    strbuf_release(&params);
    strbuf_release(&args);
    strbuf_release(&data);
    strbuf_release(&expr);
    return ok;
}

/* A tensor of three dimensions: what lies before the last two is the batch, or, where there is no
 * batch, rows of the matrix. */
static json_t *as_matrices(struct arena *mem, const json_t *t, bool batched)
{
    const json_t *shape = shape_of(t);
    size_t n = json_array_size(shape);
    json_t *copy = json_deep_copy(t);
    const char *lead = batched ? dims_product(mem, shape, 0, n - 2) : "1";
    const char *rows = batched || n == 2 ? dim_at(t, n - 2) : dims_product(mem, shape, 0, n - 1);
    json_object_set_new(copy, "shape", json_pack("[s, s, s]", lead, rows, dim_at(t, n - 1)));
    return copy;
}

static bool see_matrices(const json_t *task, const struct torch_gemm *g, json_t **made,
                         struct strbuf *why)
{
    const json_t *a = tensor_at(task, g->a), *b = tensor_at(task, g->b);
    size_t inputs = values_of(task).inputs;
    const json_t *c = tensor_at(task, inputs);
    size_t na = json_array_size(shape_of(a)), nb = json_array_size(shape_of(b));
    struct arena mem = ARENA_INIT;
    bool batched = nb > 2;
    bool same_batch = !batched || na == nb;
    for (size_t i = 0; batched && same_batch && i + 2 < nb; i++)
        same_batch = same_text(dim_at(a, i), dim_at(b, i));
    if (na < 2 || nb < 2 || json_array_size(shape_of(c)) != na || !same_batch ||
        json_array_size(json_object_get(task, "tensors")) != inputs + 1 ||
        (g->turned_axis && g->turned_axis != (int)nb - 1)) {
        strbuf_adds(why, "its operands are not matrices, or batches of them, of one output");
        return false;
    }
    *made = json_pack("{s:[o, o, o], s:{}}", "tensors", as_matrices(&mem, a, batched),
                      as_matrices(&mem, b, batched), as_matrices(&mem, c, batched), "scalars");
    arena_release(&mem);
    return true;
}

const struct pb_op *gemm_op_from_torch(const struct playbook *pb, const json_t *task,
                                       struct pb_binding *b, json_t **made, struct strbuf *why)
{
    struct values v = values_of(task);
    struct torch_gemm g = {.expr = STRBUF_INIT(16 << 10)};
    const struct pb_op *found = NULL;
    char name[16];
    struct torch_names names = torch_names_of(&v);
    if (torch_to_gemm(facts_text(task, "torch"), &names, &g, why)) {
        snprintf(name, sizeof name, "gemm_%c%c", g.a_turned ? 't' : 'n', g.b_turned ? 't' : 'n');
        found = op_named(pb, name);
        if (!found)
            strbuf_addf(why, "it does not know '%s', products of operands that lie so", name);
        else if (!see_matrices(task, &g, made, why) ||
                 !bind_epilogue(
                     b, task,
                     &(struct epilogue){
                         .product = SIZE_MAX, .used = {g.a, g.b}, .rows = true, .expr = g.expr.buf},
                     why))
            found = NULL;
    }
    strbuf_release(&g.expr);
    return found;
}
