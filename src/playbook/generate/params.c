/* params.c - finds the parameters of a generated kernel in its text, and gives workspaces to stored
 * values. graph/reference/stores.h explains sinks. */
#include "playbook/generate/params.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"
#include "graph/reference/collect.h"
#include "plan/model.h"

/* With at most this many elements, indices fit an int, with room for intermediate results. */
#define MOST_IN_INT (INT64_C(1) << 30)

static const char *const array_names[ARRAYS] = {"VAL", "PART", "PMAG"};

/* ---- which sinks read a value ---------------------------------------------------------------- */

/* Notes that sink number `reader` reads v and the values from which v is computed. Stops at stored
 * values, except if `own` says that v is the sink's own value. */
static void note_reads(struct params *p, const struct value *v, uint32_t reader, bool own,
                       bool *seen)
{
    if (seen[v->id])
        return;
    seen[v->id] = true;
    p->last_read[v->id] = MAX(p->last_read[v->id], reader);
    if (!own && p->stores->store[v->id].is_stored)
        return;
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k])
            note_reads(p, v->args[k], reader, false, seen);
}

static void find_last_reads(struct params *p)
{
    bool *seen = xcalloc(p->g->values.n + 1, sizeof *seen);
    for (size_t i = 0; i < p->stores->sinks.n; i++) {
        const struct sink *s = &p->stores->sinks.items[i];
        memset(seen, 0, p->g->values.n);
        note_reads(p, s->v, (uint32_t)i, s->kind != SINK_OUTPUT, seen);
    }
    free(seen);
}

void params_read(struct params *p, const struct value *v, size_t reader)
{
    p->last_read[v->id] = MAX(p->last_read[v->id], (uint32_t)reader);
}

static bool name_begins(const struct params *p, const char *prefix)
{
    const struct graph *g = p->g;
    bool found = false;
    for (size_t i = 0; i < g->dims.nnames; i++)
        found |= str_starts(g->dims.names[i], prefix);
    for (size_t i = 0; i < g->inputs.n; i++)
        found |= str_starts(g->inputs.items[i]->name, prefix);
    for (size_t i = 0; i < g->scalars.n; i++)
        found |= str_starts(g->scalars.items[i]->name, prefix);
    vec_each (const struct graph_output, o, &g->outputs)
        found |= str_starts(o->name, prefix);
    return found;
}

void params_init(struct params *p, struct graph *g, struct emit *e, const struct stores *s,
                 struct arena *a)
{
    *p = (struct params){.g = g, .emit = e, .stores = s, .arena = a, .slot_names = "work"};
    p->last_read = xcalloc(g->values.n + 1, sizeof *p->last_read);
    p->slot_of = xcalloc(ARRAYS * (g->values.n + 1), sizeof *p->slot_of);
    for (size_t i = 0; i < ARRAYS * g->values.n; i++)
        p->slot_of[i] = -1;
    while (name_begins(p, p->slot_names))
        p->slot_names = arena_printf(a, "%s_", p->slot_names);
    find_last_reads(p);
}

void params_release(struct params *p)
{
    vec_release(&p->all);
    vec_release(&p->slots);
    free(p->slot_of);
    free(p->last_read);
}

/* ---- types ----------------------------------------------------------------------------------- */

static const char *element_in_cuda(enum dtype t)
{
    static const char *const names[DT_COUNT] = {
        [DT_F64] = "double",
        [DT_F32] = "float",
        [DT_F16] = "__half",
        [DT_BF16] = "__nv_bfloat16",
        [DT_F8E4M3] = "__nv_fp8_e4m3",
        [DT_F8E5M2] = "__nv_fp8_e5m2",
        [DT_I64] = "long long",
        [DT_I32] = "int",
        [DT_I16] = "short",
        [DT_I8] = "signed char",
        [DT_U64] = "unsigned long long",
        [DT_U32] = "unsigned",
        [DT_U16] = "unsigned short",
        [DT_U8] = "unsigned char",
        [DT_BOOL] = "bool",
    };
    return names[t];
}

/* Other floats narrower than 32 bits are stored as float, so that they are not rounded. */
static const char *stored_type(const struct params *p, const struct value *v,
                               enum value_array array)
{
    bool is_index = v->op == OP_ARGMAX || v->op == OP_ARGMIN;
    if (array == ARRAY_PART)
        return kernel_type(is_index ? v->args[0] : v);
    if (array == ARRAY_PMAG)
        return "double";
    if (v->dtype == DT_BOOL)
        return "unsigned char";
    if (p->stores->store[v->id].is_narrow)
        return element_in_cuda(v->dtype);
    return dtype_is_float(v->dtype) && v->dtype != DT_F64 ? "float" : element_in_cuda(v->dtype);
}

static int64_t type_bytes(const char *type)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } sizes[] = {{"double", 8},
                 {"long long", 8},
                 {"unsigned long long", 8},
                 {"float", 4},
                 {"int", 4},
                 {"unsigned", 4},
                 {"short", 2},
                 {"unsigned short", 2},
                 {"__half", 2},
                 {"__nv_bfloat16", 2}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        if (str_eq(sizes[i].name, type))
            return sizes[i].bytes;
    return 1;
}

static const char *scalar_type(enum dtype t)
{
    return t == DT_F64 ? "double" : dtype_is_float(t) || t == DT_NONE ? "float" : "long long";
}

/* ---- the parameters of a launch -------------------------------------------------------------- */

static const struct dim *elements(const struct params *p, const struct value *v,
                                  enum value_array array)
{
    struct dim_pool *d = &p->g->dims;
    const struct dim *n = dim_product(d, v->shape, v->rank);
    return array == ARRAY_VAL ? n : dim_mul(d, n, emit_parts(p->emit, v));
}

static uint32_t take_slot(struct params *p, const struct dim *bytes)
{
    for (size_t i = 0; i < p->slots.n; i++)
        if (!p->slots.items[i].busy && dim_same(p->slots.items[i].bytes, bytes)) {
            p->slots.items[i].busy = true;
            return (uint32_t)i;
        }
    *vec_push(&p->slots) = (struct slot){bytes, true};
    return (uint32_t)p->slots.n - 1;
}

static struct param *add(struct params *p, struct param x)
{
    vec_each (struct param, q, &p->all)
        if (q->kind == x.kind && str_eq(q->name, x.name))
            return q;
    struct param *q = vec_push(&p->all);
    *q = x;
    return q;
}

static void add_value(struct params *p, enum value_array array, uint32_t id, bool writes)
{
    const struct value *v = p->g->values.items[id];
    struct param x = {.kind = PARAM_VALUE,
                      .name = arena_printf(p->arena, "%s%u", array_names[array], id),
                      .type = stored_type(p, v, array),
                      .elems = elements(p, v, array),
                      .writes = writes};
    int32_t *slot = &p->slot_of[ARRAYS * id + array];
    if (*slot < 0) {
        const struct dim *bytes =
            dim_mul(&p->g->dims, x.elems, dim_number(&p->g->dims, type_bytes(x.type)));
        *slot = (int32_t)take_slot(p, bytes);
    }
    x.slot = (uint32_t)*slot;
    add(p, x);
}

static void add_named(struct params *p, enum param_kind kind, const char *name)
{
    struct param x = {.kind = kind, .name = name, .writes = kind == PARAM_OUT};
    const struct value *v = graph_find(p->g, name);
    if (kind == PARAM_OUT) {
        vec_each (const struct graph_output, o, &p->g->outputs)
            if (str_eq(o->name, name)) {
                x.type = element_in_cuda(o->dtype);
                x.elems = dim_product(&p->g->dims, o->shape, o->rank);
            }
    } else if (kind == PARAM_IN && v) {
        x.type = element_in_cuda(v->dtype);
        x.elems = dim_product(&p->g->dims, v->shape, v->rank);
    } else if (kind == PARAM_SCALAR && v) {
        x.type = scalar_type(v->dtype);
    }
    add(p, x);
}

/* A sink that computes the partial squares of a variance also computes the partial sums of the
 * mean. Returns the id of the mean's sum, else -1. */
static int64_t sum_with(const struct params *p, const struct sink *s)
{
    const struct value *centre = s->kind == SINK_PART ? p->stores->store[s->v->id].centre : NULL;
    return centre ? (int64_t)centre->args[0]->id : -1;
}

static void define_array(const char *name, int64_t id, struct strbuf *out)
{
    strbuf_addf(out, "#define %s%lld(i) at_%s%lld[i]\n", name, (long long)id, name, (long long)id);
}

/* If s begins with a call "NAME(...", adds its parameter. `len` is the length of NAME. */
static void add_call(struct params *p, const char *s, size_t len, const struct sink *sinks,
                     size_t n)
{
    static const struct {
        const char *name;
        enum param_kind kind;
    } calls[] = {{"IN", PARAM_IN},      {"IN_AT", PARAM_IN}, {"OUT", PARAM_OUT},
                 {"OUT_AT", PARAM_OUT}, {"AX", PARAM_AXIS},  {"SC", PARAM_SCALAR}};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (strlen(calls[i].name) == len && memcmp(calls[i].name, s, len) == 0) {
            size_t k = strcspn(s + len + 1, ",)");
            add_named(p, calls[i].kind, arena_strndup(p->arena, s + len + 1, k));
        }
    for (int a = 0; a < ARRAYS; a++) {
        size_t k = strlen(array_names[a]);
        char *end;
        if (len <= k || memcmp(s, array_names[a], k) != 0 || !isdigit((unsigned char)s[k]))
            continue;
        uint32_t id = (uint32_t)strtoul(s + k, &end, 10);
        bool writes = false;
        for (size_t i = 0; i < n; i++)
            writes |= sinks[i].kind != SINK_OUTPUT &&
                      (sinks[i].kind == SINK_PART) == (a != ARRAY_VAL) &&
                      (sinks[i].v->id == id || sum_with(p, &sinks[i]) == (int64_t)id);
        if (end == s + len)
            add_value(p, (enum value_array)a, id, writes);
    }
}

void params_find(struct params *p, const char *body, const struct sink *sinks, size_t n)
{
    p->all.n = 0;
    for (const char *s = body; *s;) {
        size_t len = 0;
        while (isalnum((unsigned char)s[len]) || s[len] == '_')
            len++;
        if (len && s[len] == '(')
            add_call(p, s, len, sinks, n);
        s += len ? len : 1;
    }
    p->n = p->all.n;
}

void params_done(struct params *p, size_t last)
{
    for (size_t id = 0; id < p->g->values.n; id++)
        for (int a = 0; a < ARRAYS; a++) {
            int32_t slot = p->slot_of[ARRAYS * id + (size_t)a];
            if (slot >= 0 && p->last_read[id] <= last) {
                p->slots.items[slot].busy = false;
                p->slot_of[ARRAYS * id + (size_t)a] = -1;
            }
        }
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *prefix(enum param_kind kind)
{
    static const char *const prefixes[] = {"in_", "out_", "ax_", "sc_", "at_"};
    return prefixes[kind];
}

/* Is this input also an output? Then two parameters point to the same memory. */
static bool is_replaced(const struct params *p, const struct param *x)
{
    const struct value *v = graph_find(p->g, x->name);
    bool out = false;
    vec_each (const struct graph_output, o, &p->g->outputs)
        out |= str_eq(o->name, x->name);
    return v && v->op == OP_INPUT && out;
}

void params_declare(const struct params *p, const char *index, struct strbuf *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct param *x = &p->all.items[i];
        bool alone = x->kind == PARAM_VALUE || !is_replaced(p, x);
        strbuf_adds(out, i ? ", " : "");
        if (x->elems)
            strbuf_addf(out, "%s%s *%s", x->writes ? "" : "const ", x->type,
                        alone && !x->writes ? "__restrict__ " : "");
        else
            strbuf_addf(out, "%s ", x->type ? x->type : index);
        strbuf_addf(out, "%s%s", prefix(x->kind), x->name);
    }
}

void params_names(const struct params *p, struct strbuf *out)
{
    for (size_t i = 0; i < p->n; i++)
        strbuf_addf(out, "%s%s%s", i ? ", " : "", prefix(p->all.items[i].kind),
                    p->all.items[i].name);
}

void params_args(const struct params *p, struct strbuf *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct param *x = &p->all.items[i];
        if (x->kind == PARAM_VALUE)
            strbuf_addf(out, "%s\"%s%u\"", i ? ", " : "", p->slot_names, x->slot);
        else
            strbuf_addf(out, "%s\"%s\"", i ? ", " : "", x->name);
    }
}

enum params_fit params_fit_int(const struct params *p, const struct dim *units, const char **when)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    bool never = false;
    unsigned n = 0;
    *when = "";
    for (size_t i = 0; i <= p->n; i++) {
        const struct dim *d = i < p->n ? p->all.items[i].elems : units;
        bool known = false;
        for (size_t k = 0; k < i && d; k++)
            known |= p->all.items[k].elems == d;
        if (!d || known)
            continue;
        if (d->is_number)
            never |= d->value > MOST_IN_INT;
        else
            strbuf_addf(&sb, "%s%s", n++ ? "," : "", d->text);
    }
    enum params_fit fit = FITS_SOMETIMES;
    if (never || sb.len > EXPR_MAX_LEN - 64)
        fit = FITS_NEVER;
    else if (!n)
        fit = FITS_ALWAYS;
    else
        *when = arena_printf(p->arena, n > 1 ? "max(%s) <= %lld" : "%s <= %lld", sb.buf,
                             (long long)MOST_IN_INT);
    strbuf_release(&sb);
    return fit;
}

const char *params_slot(const struct params *p, const struct value *v)
{
    return arena_printf(p->arena, "%s%d", p->slot_names, (int)p->slot_of[ARRAYS * v->id]);
}

int params_workspaces(const struct params *p, const char *further, struct strbuf *out,
                      struct err *err)
{
    if (p->slots.n > PLAN_MAX_WORKSPACES)
        return err_set(err, ERR_LIMIT, "it needs %zu workspaces; a plan has at most %d", p->slots.n,
                       PLAN_MAX_WORKSPACES);
    for (size_t i = 0; i < p->slots.n; i++)
        strbuf_addf(out, "%s\"%s%zu\": { \"bytes\": \"%s\", \"init\": \"none\" }",
                    i ? ",\n    " : ",\n  \"workspace\": {\n    ", p->slot_names, i,
                    p->slots.items[i].bytes->text);
    if (*further)
        strbuf_addf(out, "%s%s", p->slots.n ? ",\n    " : ",\n  \"workspace\": {\n    ", further);
    strbuf_adds(out, p->slots.n || *further ? " }" : "");
    return 0;
}

static bool has_type(const struct params *p, enum dtype a, enum dtype b)
{
    bool found = false;
    for (size_t i = 0; i < p->g->inputs.n; i++)
        found |= p->g->inputs.items[i]->dtype == a || p->g->inputs.items[i]->dtype == b;
    vec_each (const struct graph_output, o, &p->g->outputs)
        found |= o->dtype == a || o->dtype == b;
    for (size_t i = 0; i < p->g->values.n; i++)
        found |= p->stores->store[i].is_narrow && p->g->values.items[i]->dtype == a;
    return found;
}

static void add_overloads(struct strbuf *out, const char *type, const char *load, const char *put)
{
    strbuf_addf(out,
                "__device__ float hone_load(const %s &x) { return %s; }\n"
                "template <class V>\n__device__ void hone_put(%s *p, V v)\n"
                "{\n    %s;\n}\n\n",
                type, load, type, put);
}

void params_includes(const struct params *p, struct strbuf *includes, struct strbuf *overloads)
{
    if (has_type(p, DT_F16, DT_F16)) {
        strbuf_adds(includes, "#include <cuda_fp16.h>\n");
        add_overloads(overloads, "__half", "__half2float(x)", "*p = __float2half_rn((float)v)");
    }
    if (has_type(p, DT_BF16, DT_BF16)) {
        strbuf_adds(includes, "#include <cuda_bf16.h>\n");
        add_overloads(overloads, "__nv_bfloat16", "__bfloat162float(x)",
                      "*p = __float2bfloat16_rn((float)v)");
    }
    if (!has_type(p, DT_F8E4M3, DT_F8E5M2))
        return;
    strbuf_adds(includes, "#include <cuda_fp8.h>\n");
    for (int k = 0; k < 2; k++)
        add_overloads(overloads, k ? "__nv_fp8_e5m2" : "__nv_fp8_e4m3", "float(x)",
                      k ? "p->__x = __nv_cvt_float_to_fp8((float)v, __NV_NOSAT, __NV_E5M2)"
                        : "p->__x = __nv_cvt_float_to_fp8((float)v, __NV_NOSAT, __NV_E4M3)");
}

void params_macros(const struct params *p, struct strbuf *out)
{
    vec_each (const struct sink, s, &p->stores->sinks)
        for (int a = 0; a < ARRAYS && s->kind != SINK_OUTPUT; a++)
            if ((s->kind == SINK_PART) == (a != ARRAY_VAL)) {
                define_array(array_names[a], s->v->id, out);
                if (sum_with(p, s) >= 0)
                    define_array(array_names[a], sum_with(p, s), out);
            }
}
