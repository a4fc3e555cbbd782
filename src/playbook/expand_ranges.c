/*
 * expand_ranges.c - writes one kernel file from a `when` table (book/ranges.h).
 *
 * Hone expands the template once for each range. These versions share all code in which they do not
 * differ. The other code of a version is in a namespace: range1, range2, ... Versions with the same
 * code have one namespace. A launch of the plan gets the condition of its range, so the host
 * chooses by the sizes of the call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "plan/model.h"
#include "plan/plan.h"
#include "playbook/items.h"
#include "playbook/playbook.h"

struct version {
    struct strbuf source;
    json_t *plan;
    struct item_vec items; /* the code after the plan; parts of `source` */
    struct strbuf own;     /* the code that is not shared */
    char space[16];        /* the namespace; "" if all code is shared */
};

struct combining {
    const struct playbook *pb;
    const struct pb_ranges *r;
    struct version v[RANGES_MAX];
    struct err *err;
};

static void release(struct combining *x)
{
    for (uint32_t i = 0; i < x->r->n; i++) {
        struct version *v = &x->v[i];
        items_release(&v->items);
        strbuf_release(&v->source);
        strbuf_release(&v->own);
        json_decref(v->plan);
    }
}

static int cannot(const struct combining *x, const char *why)
{
    return err_set(x->err, ERR_UNSUPPORTED,
                   "playbook %s cannot have settings for ranges of shapes: %s", x->pb->name, why);
}

/* ---- code ------------------------------------------------------------------------------------ */

static int read_version(struct combining *x, const struct pb_binding *b, uint32_t i)
{
    struct version *v = &x->v[i];
    const char *plan, *end;
    if (playbook_expand(x->pb, b, &x->r->items[i].point, &v->source, x->err) < 0)
        return -1;
    if (!plan_find(v->source.buf, &plan, &end))
        return cannot(x, "its template has no launch plan");
    v->plan = json_loadb(plan, (size_t)(end - plan), 0, NULL);
    if (!json_is_object(v->plan))
        return cannot(x, "its launch plan is not JSON");
    if (!items_split(end + 2, &v->items))
        return cannot(x, "the declarations of its template cannot be told apart");
    return 0;
}

/* Marks the items that the versions do not share. */
static int compare_versions(struct combining *x)
{
    struct item_vec *a = &x->v[0].items;
    for (uint32_t i = 1; i < x->r->n; i++)
        if (!items_compare(a, &x->v[i].items))
            return cannot(x, "its settings change which declarations there are");
    items_spread(a);
    for (size_t k = 0; k < a->n; k++) {
        if (a->items[k].own && a->items[k].kind == ITEM_NAMESPACE)
            return cannot(x, "a namespace of its template depends on a setting");
        for (uint32_t i = 1; i < x->r->n; i++)
            x->v[i].items.items[k].own = a->items[k].own;
    }
    return 0;
}

/* Adds an item without its extern "C", because C names clash even in different namespaces. */
static void add_own(const struct item *it, bool comments, struct strbuf *out)
{
    static const char c_name[] = "extern \"C\" ";
    const char *code = it->text + it->lead, *end = it->text + it->len;
    if (comments)
        strbuf_add(out, it->text, it->lead);
    else if (it->lead)
        strbuf_addc(out, '\n');
    if (str_starts(code, c_name))
        code += sizeof c_name - 1;
    strbuf_add(out, code, (size_t)(end - code));
}

static void choose_spaces(struct combining *x)
{
    unsigned spaces = 0;
    for (uint32_t i = 0; i < x->r->n; i++) {
        struct version *v = &x->v[i];
        vec_each (const struct item, it, &v->items)
            if (it->own)
                add_own(it, false, &v->own);
        for (uint32_t k = 0; k < i && !*v->space; k++)
            if (str_eq(x->v[k].own.buf, v->own.buf))
                memcpy(v->space, x->v[k].space, sizeof v->space);
        if (!*v->space && v->own.len)
            snprintf(v->space, sizeof v->space, "range%u", ++spaces);
    }
}

/* Adds the shared code, then each namespace once. Only the first version's namespace has comments
 * between the items. Macros do not end with a namespace, so #undef ends them. */
static void add_code(const struct combining *x, struct strbuf *out)
{
    vec_each (const struct item, it, &x->v[0].items)
        if (!it->own)
            strbuf_add(out, it->text, it->len);
    for (uint32_t i = 0; i < x->r->n; i++) {
        const struct version *v = &x->v[i];
        bool known = !*v->space;
        for (uint32_t k = 0; k < i; k++)
            known |= str_eq(x->v[k].space, v->space);
        if (known)
            continue;
        strbuf_addf(out, "\nnamespace %s {\n", v->space);
        vec_each (const struct item, it, &v->items)
            if (it->own)
                add_own(it, i == 0, out);
        strbuf_addf(out, "} // namespace %s\n", v->space);
        vec_each (const struct item, it, &v->items)
            vec_each (const struct item_name, d, &it->declares)
                if (it->own && it->kind == ITEM_MACRO)
                    strbuf_addf(out, "#undef %.*s\n", (int)d->len, d->text);
    }
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* Is this entry of `section` the same in all versions that have it? */
static bool is_common(const struct combining *x, const char *section, const char *name,
                      const json_t *entry)
{
    for (uint32_t i = 0; i < x->r->n; i++) {
        const json_t *other = json_object_get(json_object_get(x->v[i].plan, section), name);
        if (other && !json_equal((json_t *)other, (json_t *)entry))
            return false;
    }
    return true;
}

/* Returns the name, in the common plan, of a workspace or tensor map of version i. The name is a
 * new reference. Returns NULL if the old name stays. */
static json_t *renamed(const struct combining *x, uint32_t i, const char *name)
{
    static const char *const sections[] = {"workspace", "tensormaps"};
    for (size_t k = 0; name && k < ARRAY_LEN(sections); k++) {
        const json_t *entry = json_object_get(json_object_get(x->v[i].plan, sections[k]), name);
        if (entry && !is_common(x, sections[k], name, entry))
            return json_sprintf("range%u_%s", i + 1, name);
    }
    return NULL;
}

static void rename_value(const struct combining *x, uint32_t i, json_t *object, const char *key)
{
    json_t *name = renamed(x, i, json_string_value(json_object_get(object, key)));
    if (name)
        json_object_set_new(object, key, name);
}

/* Renames the workspaces and tensor maps that the launches of version i use. */
static void rename_uses(const struct combining *x, uint32_t i)
{
    const json_t *launches = json_object_get(x->v[i].plan, "launches");
    size_t k, a;
    json_t *l, *arg;
    json_array_foreach(launches, k, l)
    {
        json_t *args = json_object_get(l, "args");
        rename_value(x, i, l, "memset");
        rename_value(x, i, l, "copy");
        rename_value(x, i, l, "to");
        json_array_foreach(args, a, arg)
        {
            json_t *name = renamed(x, i, json_string_value(arg));
            if (name)
                json_array_set_new(args, a, name);
        }
    }
}

/* Renames the workspaces that tensor maps describe. A map of a renamed workspace then differs
 * between the versions, as the workspace does. */
static void rename_map_tensors(const struct combining *x)
{
    for (uint32_t i = 0; i < x->r->n; i++) {
        const char *key;
        json_t *m;
        json_object_foreach(json_object_get(x->v[i].plan, "tensormaps"), key, m)
        {
            rename_value(x, i, m, "tensor");
        }
    }
}

/* Appends the condition of range i, such as "M > 64 && M <= 512". */
static void add_condition(const struct pb_ranges *r, uint32_t i, struct strbuf *out)
{
    if (i)
        strbuf_addf(out, "%s > %lld", r->axis, (long long)r->items[i - 1].to);
    if (i + 1 < r->n)
        strbuf_addf(out, "%s%s <= %lld", i ? " && " : "", r->axis, (long long)r->items[i].to);
}

/* Is `name` a kernel of the version's namespace? It may be a template instance. */
static bool is_own_kernel(const struct version *v, const char *name)
{
    return items_declare(&v->items, name, strcspn(name, "<"), true);
}

static void add_text(struct strbuf *out, const json_t *j)
{
    char *text = json_dumps(j, JSON_ENCODE_ANY);
    strbuf_adds(out, text ? text : "");
    free(text);
}

static void add_launches(const struct combining *x, uint32_t i, struct strbuf *out)
{
    const struct version *v = &x->v[i];
    size_t k;
    json_t *l;
    json_array_foreach(json_object_get(v->plan, "launches"), k, l)
    {
        struct strbuf when = STRBUF_INIT(EXPR_MAX_LEN * 2);
        const char *kernel = json_string_value(json_object_get(l, "kernel"));
        const char *old = json_string_value(json_object_get(l, "when"));
        add_condition(x->r, i, &when);
        if (old)
            strbuf_addf(&when, " && (%s)", old);
        json_object_set_new(l, "when", json_string(when.buf));
        if (kernel && *v->space && is_own_kernel(v, kernel))
            json_object_set_new(l, "kernel", json_sprintf("%s::%s", v->space, kernel));
        strbuf_adds(out, i || k ? ",\n    " : "\n    ");
        add_text(out, l);
        strbuf_release(&when);
    }
}

/* Adds "workspace" or "tensormaps" of all versions, each common entry once. */
static void add_section(const struct combining *x, const char *section, struct strbuf *out)
{
    json_t *all = json_object();
    for (uint32_t i = 0; i < x->r->n; i++) {
        const char *name;
        json_t *entry;
        json_object_foreach(json_object_get(x->v[i].plan, section), name, entry)
        {
            json_t *other = renamed(x, i, name);
            json_object_set(all, other ? json_string_value(other) : name, entry);
            json_decref(other);
        }
    }
    const char *name, *between = "";
    json_t *entry;
    if (json_object_size(all))
        strbuf_addf(out, ",\n  \"%s\": {", section);
    json_object_foreach(all, name, entry)
    {
        strbuf_addf(out, "%s\n    \"%s\": ", between, name);
        add_text(out, entry);
        between = ",";
    }
    strbuf_adds(out, json_object_size(all) ? " }" : "");
    json_decref(all);
}

/* Adds the other attributes of the plan, such as "fast_math". They hold for the whole file. */
static int add_attributes(const struct combining *x, struct strbuf *out)
{
    static const char *const sections[] = {"launches", "workspace", "tensormaps"};
    const char *key;
    json_t *value;
    for (uint32_t i = 0; i < x->r->n; i++)
        json_object_foreach(x->v[i].plan, key, value)
        {
            bool section = false;
            for (size_t k = 0; k < ARRAY_LEN(sections); k++)
                section |= str_eq(key, sections[k]);
            if (section)
                continue;
            for (uint32_t k = 0; k < x->r->n; k++)
                if (!json_equal(json_object_get(x->v[k].plan, key), value))
                    return cannot(x, "its settings change an attribute of the whole file");
            if (i == 0) {
                strbuf_addf(out, ",\n  \"%s\": ", key);
                add_text(out, value);
            }
        }
    return 0;
}

static int add_plan(struct combining *x, struct strbuf *out)
{
    struct strbuf plan = STRBUF_INIT(PLAN_MAX_SOURCE);
    rename_map_tensors(x);
    for (uint32_t i = 0; i < x->r->n; i++)
        rename_uses(x, i);
    strbuf_adds(&plan, "\n{ \"launches\": [");
    for (uint32_t i = 0; i < x->r->n; i++)
        add_launches(x, i, &plan);
    strbuf_adds(&plan, " ]");
    add_section(x, "workspace", &plan);
    add_section(x, "tensormaps", &plan);
    int rc = add_attributes(x, &plan);
    strbuf_adds(&plan, " }\n");
    out->truncated |= plan.truncated;
    strbuf_adds(out, "/* hone-plan");
    plan_simplify(plan.buf, plan.len, out);
    strbuf_adds(out, "*/\n");
    strbuf_release(&plan);
    return rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int combine(struct combining *x, const struct pb_binding *b, struct strbuf *out)
{
    for (uint32_t i = 0; i < x->r->n; i++)
        if (read_version(x, b, i) < 0)
            return -1;
    if (compare_versions(x) < 0)
        return -1;
    choose_spaces(x);
    if (add_plan(x, out) < 0)
        return -1;
    strbuf_addf(out, "// hone-when %s\n", x->pb->name);
    ranges_print(x->pb, x->r, "//   ", out);
    add_code(x, out);
    return out->truncated
               ? err_set(x->err, ERR_LIMIT, "playbook %s: the kernel is too long", x->pb->name)
               : 0;
}

int playbook_expand_ranges(const struct playbook *pb, const struct pb_binding *b,
                           const struct pb_ranges *r, struct strbuf *out, struct err *err)
{
    if (r->n == 1)
        return playbook_expand(pb, b, &r->items[0].point, out, err);
    struct combining x = {.pb = pb, .r = r, .err = err};
    for (uint32_t i = 0; i < r->n; i++) {
        strbuf_init(&x.v[i].source, PLAN_MAX_SOURCE);
        strbuf_init(&x.v[i].own, PLAN_MAX_SOURCE);
    }
    int rc = combine(&x, b, out);
    release(&x);
    return rc;
}
