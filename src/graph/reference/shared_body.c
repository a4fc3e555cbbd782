/*
 * shared_body.c - finds phases with similar texts and writes the functions that they share.
 *
 * We make a form of each phase's text: the text without its integers, and with numbers in place of
 * the names of regions, tensors and local variables. Phases with the same form are of one kind, and
 * share a function.
 */
#include "graph/reference/shared_body.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/util.h"

enum {
    MAX_FORM = 16 << 20, /* bytes */
    LEAST_BODY = 300,    /* bytes; a shorter body is not worth a call */
    MOST_PARAMETERS = 120,
    LINE = 96
};

/* ---- forms ----------------------------------------------------------------------------------- */

VEC_DECL(name_vec, const char *);
VEC_DECL(local_vec, size_t);

/* Returns the position of the token's name in the list, counted from 1. Adds the name if the list
 * does not have it. */
static size_t name_number(struct name_vec *names, struct arena *a, const struct body_token *t)
{
    for (size_t i = names->n; i-- > 0;)
        if (strncmp(names->items[i], t->at, t->len) == 0 && !names->items[i][t->len])
            return i + 1;
    *vec_push(names) = arena_strndup(a, t->at, t->len);
    return names->n;
}

static const char *tensor_dtype(const struct shared_bodies *s, const char *name)
{
    const struct value *v = graph_find(s->g, name);
    if (v)
        return dtype_name(v->dtype);
    vec_each (const struct graph_output, o, &s->g->outputs)
        if (str_eq(o->name, name))
            return dtype_name(o->dtype);
    return name; /* an unknown tensor: this form differs from all others */
}

/* Returns the number of a local name such as v3, from 1. The names v6 and s6 are a pair
 * (sampled_body.h) and get one number. */
static size_t local_number(struct local_vec *locals, size_t *known, const struct body_token *t)
{
    size_t i = strtoul(t->at + 1, NULL, 10);
    while (locals->n <= i)
        vec_push(locals);
    if (!locals->items[i])
        locals->items[i] = ++*known;
    return locals->items[i];
}

static void read_body(const struct shared_bodies *s, struct phase_body *b, struct strbuf *form)
{
    struct name_vec regions = VEC_INIT, tensors = VEC_INIT;
    struct local_vec locals = VEC_INIT;
    size_t nlocals = 0;
    struct body_scan scan = {.names = s->names, .text = b->text};
    struct body_token t;
    while (body_next(&scan, &t)) {
        switch (t.kind) {
        case TOKEN_REGION: {
            bool sampled = s->sampled[t.id] && (*t.at == 'V' || str_starts(t.at, "PART"));
            size_t k = name_number(&regions, s->arena, &t);
            strbuf_addf(form, "\1%.*s%d.%zu", (int)t.prefix, t.at, sampled, k);
            break;
        }
        case TOKEN_TENSOR: {
            size_t before = tensors.n, k = name_number(&tensors, s->arena, &t);
            const char *dtype = k > before ? tensor_dtype(s, tensors.items[k - 1]) : "";
            strbuf_addf(form, "\2%s.%zu", dtype, k);
            break;
        }
        case TOKEN_LOCAL:
            strbuf_addf(form, "\3%c%zu", *t.at, local_number(&locals, &nlocals, &t));
            break;
        case TOKEN_INTEGER:
            strbuf_addc(form, '\4');
            *vec_push(&b->integers) = strtoll(t.at, NULL, 10);
            break;
        case TOKEN_OTHER:
            strbuf_add(form, t.at, t.len);
            break;
        }
    }
    b->regions.items = regions.items;
    b->regions.n = regions.n;
    b->tensors.items = tensors.items;
    b->tensors.n = tensors.n;
    vec_release(&locals);
}

struct form {
    uint64_t hash;
    char *text;
    size_t first; /* the first phase with this form */
};

static uint64_t hash_of(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

/* ---- integers -------------------------------------------------------------------------------- */

static bool same_column(const struct shared_bodies *s, size_t first, size_t i, size_t k)
{
    for (size_t p = first; p < s->n; p++)
        if (s->bodies[p].first == first &&
            s->bodies[p].integers.items[i] != s->bodies[p].integers.items[k])
            return false;
    return true;
}

static bool varies(const struct shared_bodies *s, size_t first, size_t i)
{
    for (size_t p = first + 1; p < s->n; p++)
        if (s->bodies[p].first == first &&
            s->bodies[p].integers.items[i] != s->bodies[first].integers.items[i])
            return true;
    return false;
}

/* Integers that differ between the phases of a kind become parameters. Integers that are equal to
 * each other in every phase share one parameter. */
static void number_integers(const struct shared_bodies *s, size_t first)
{
    struct phase_body *b = &s->bodies[first];
    VEC(size_t) with = VEC_INIT; /* the first integer of each parameter */
    for (size_t i = 0; i < b->integers.n; i++) {
        size_t k = 0;
        if (varies(s, first, i)) {
            while (k < with.n && !same_column(s, first, with.items[k], i))
                k++;
            if (k++ == with.n)
                *vec_push(&with) = i;
        }
        *vec_push(&b->numbers) = k;
    }
    b->nnumbers = with.n;
    vec_release(&with);
}

/* ---- finding --------------------------------------------------------------------------------- */

void shared_bodies_find(struct shared_bodies *s)
{
    VEC(struct form) forms = VEC_INIT;
    for (size_t i = 0; i < s->n; i++) {
        struct phase_body *b = &s->bodies[i];
        struct strbuf text = STRBUF_INIT(MAX_FORM);
        b->first = i;
        b->like = 1;
        read_body(s, b, &text);
        if (!s->share || strlen(b->text) < LEAST_BODY) {
            strbuf_release(&text);
            continue;
        }
        uint64_t hash = hash_of(text.buf);
        size_t k = 0;
        while (k < forms.n &&
               (forms.items[k].hash != hash || !str_eq(forms.items[k].text, text.buf)))
            k++;
        if (text.truncated) {
            strbuf_release(&text);
        } else if (k == forms.n) {
            *vec_push(&forms) = (struct form){hash, strbuf_detach(&text, NULL), i};
        } else {
            b->first = forms.items[k].first;
            s->bodies[b->first].like++;
            strbuf_release(&text);
        }
    }
    vec_each (const struct form, f, &forms) {
        struct phase_body *b = &s->bodies[f->first];
        if (b->like > 1)
            number_integers(s, f->first);
        if (b->regions.n + b->tensors.n + b->nnumbers > MOST_PARAMETERS) {
            for (size_t p = f->first; p < s->n; p++)
                if (s->bodies[p].first == f->first)
                    s->bodies[p].first = p;
            b->like = 1;
        }
        free(f->text);
    }
    vec_release(&forms);
}

static bool is_shared(const struct shared_bodies *s, size_t i)
{
    return s->bodies[s->bodies[i].first].like > 1;
}

void shared_bodies_release(struct shared_bodies *s)
{
    for (size_t i = 0; i < s->n; i++) {
        vec_release(&s->bodies[i].regions);
        vec_release(&s->bodies[i].tensors);
        vec_release(&s->bodies[i].integers);
        vec_release(&s->bodies[i].numbers);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* *line is the offset in `out` at which the current line begins. */
static void add_item(struct strbuf *out, size_t *line, int indent, const char *text)
{
    bool wraps = out->len - *line + strlen(text) + 3 > LINE;
    strbuf_addf(out, wraps ? ",\n%*s" : ", ", indent, "");
    if (wraps)
        *line = out->len - (size_t)indent;
    strbuf_adds(out, text);
}

static void write_shared(const struct shared_bodies *s, size_t first, struct strbuf *out)
{
    const struct phase_body *b = &s->bodies[first];
    struct body_scan scan = {.names = s->names, .text = b->text};
    struct body_token t;
    size_t k = 0, line;
    strbuf_addf(out,
                "\n/* One unit of %s and of %zu other phases. The parameters have the names that "
                "%s uses. */\n",
                b->fn, b->like - 1, b->fn);
    line = out->len;
    strbuf_addf(out, "HONE_SHARED void shared_%s(const struct hone_ref_ctx *hone, int64_t unit",
                b->fn);
    if (b->is_repeated)
        add_item(out, &line, 4, "int64_t hone_step");
    for (size_t i = 0; i < b->regions.n; i++)
        add_item(out, &line, 4, arena_printf(s->arena, "int64_t %s_at", b->regions.items[i]));
    for (size_t i = 0; i < b->tensors.n; i++)
        add_item(out, &line, 4, arena_printf(s->arena, "int HT_%s", b->tensors.items[i]));
    for (size_t i = 1; i <= b->nnumbers; i++)
        add_item(out, &line, 4, arena_printf(s->arena, "int64_t n%zu", i));
    strbuf_adds(out, ")\n{\n");
    while (body_next(&scan, &t)) {
        size_t number = t.kind == TOKEN_INTEGER ? b->numbers.items[k++] : 0;
        if (number)
            strbuf_addf(out, "n%zu", number);
        else
            strbuf_add(out, t.at, t.len);
    }
    strbuf_adds(out, "}\n");
}

/* Returns the C expression for the place of a region such as VAL12 or OFF0_12. */
static const char *place_of(const struct shared_bodies *s, const char *region)
{
    const char *digits = region + strlen(region);
    while (digits > region && isdigit((unsigned char)digits[-1]))
        digits--;
    return s->place(s->ctx, (uint32_t)strtoul(digits, NULL, 10), region);
}

static void write_call(const struct shared_bodies *s, size_t i, struct strbuf *out)
{
    const struct phase_body *b = &s->bodies[i], *first = &s->bodies[b->first];
    size_t line = out->len, done = 0;
    strbuf_addf(out, "    shared_%s(hone, unit%s", first->fn, b->is_repeated ? ", STEP" : "");
    for (size_t k = 0; k < b->regions.n; k++)
        add_item(out, &line, 8, place_of(s, b->regions.items[k]));
    for (size_t k = 0; k < b->tensors.n; k++)
        add_item(out, &line, 8, arena_printf(s->arena, "HT_%s", b->tensors.items[k]));
    for (size_t k = 0; k < b->integers.n; k++)
        if (first->numbers.items[k] == done + 1) {
            add_item(out, &line, 8,
                     arena_printf(s->arena, "%lld", (long long)b->integers.items[k]));
            done++;
        }
    strbuf_adds(out, ");\n");
}

void shared_bodies_write(const struct shared_bodies *s, size_t i, struct strbuf *out)
{
    const struct phase_body *b = &s->bodies[i];
    if (is_shared(s, i) && b->first == i)
        write_shared(s, i, out);
    strbuf_addf(out, "\n%sPHASE(%s)\n{\n", b->about, b->fn);
    if (is_shared(s, i))
        write_call(s, i, out);
    else {
        for (size_t k = 0; k < b->regions.n; k++)
            strbuf_addf(out, "    const int64_t %s_at = %s;\n", b->regions.items[k],
                        place_of(s, b->regions.items[k]));
        strbuf_adds(out, b->text);
    }
    strbuf_adds(out, "}\n");
}
