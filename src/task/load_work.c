/* load_work.c - reads the oracle's phases, and reads and checks the workloads. */
#include <string.h>

#include "base/util.h"
#include "task/load.h"

static const char *const role_names[ROLE_COUNT] = {
    [ROLE_SMOKE] = "smoke",
    [ROLE_CHECK] = "check",
    [ROLE_TIME] = "time",
    [ROLE_HELDOUT] = "heldout",
};

const char *workload_role_name(enum workload_role r)
{
    return role_names[r];
}

static void load_phase(struct loader *l, const struct json_node *n)
{
    static const char *const keys[] = {"fn", "units", "repeat"};
    struct task_phase p = {NULL, NULL, NULL};
    struct json_node c;
    if (!json_node_object(n, 4))
        return;
    json_node_only(n, keys, ARRAY_LEN(keys));
    bool ok =
        json_node_need(n, "fn", &c) && json_node_str(&c, 128, &p.fn) && json_node_name_ok(&c, p.fn);
    if (json_node_get(n, "repeat", &c))
        ok = load_expr(l, &c, &p.repeat) && ok;
    if (json_node_need(n, "units", &c) && load_expr(l, &c, &p.units) && ok)
        *vec_push(&l->t->phases) = p;
}

void load_oracle(struct loader *l)
{
    static const char *const keys[] = {"phases", "scratch"};
    struct json_node n, c;
    bool have = json_node_get(&l->root, "oracle", &n),
         expression = l->t->torch_src || l->t->graph_json;
    if (!have && !l->t->is_definition)
        json_node_bad(&l->root, "missing \"oracle\"%s%s",
                      expression
                          ? "; Hone writes it from \"torch\" or \"graph\", with reference.c: "
                            "hone task show --reference --json "
                          : "",
                      expression ? l->r.file : "");
    if (!have || !json_node_object(&n, 8))
        return;
    json_node_only(&n, keys, ARRAY_LEN(keys));
    if (json_node_get(&n, "scratch", &c))
        load_expr(l, &c, &l->t->scratch);
    if (!json_node_need(&n, "phases", &c) || !json_node_array(&c, TASK_MAX_PHASES))
        return;
    if (json_array_size(c.j) == 0)
        json_node_bad(&c, "an oracle needs at least one phase");
    for (size_t i = 0; i < json_array_size(c.j); i++) {
        struct json_node p = json_node_item(&c, i);
        load_phase(l, &p);
    }
    if (!l->t->reference_c)
        json_node_bad_key(&n, "an oracle needs reference.c beside the task, and there is none%s%s",
                          expression ? "; Hone writes one: hone task show --reference " : "",
                          expression ? l->r.file : "");
}

/* ---- workloads ------------------------------------------------------------------------------- */

/* Limits the cost of the checks below, because a task may be hostile. */
#define MAX_HELDOUT 32
#define VERIFY_DRAWS 4

#define AXIS_MAX (INT64_C(1) << 40)
#define MAX_OFFSET 4096

/* Reads a range: [lo, hi], or an object with "min", "max" and perhaps "multiple". */
static bool load_range(const struct json_node *n, struct axis_range *x)
{
    static const char *const keys[] = {"min", "max", "multiple"};
    struct json_node c;
    if (json_is_array(n->j)) {
        if (json_array_size(n->j) != 2) {
            json_node_bad(n, "a range is [least, largest]");
            return false;
        }
        struct json_node lo = json_node_item(n, 0), hi = json_node_item(n, 1);
        if (!json_node_int(&lo, 0, AXIS_MAX, &x->lo) || !json_node_int(&hi, 0, AXIS_MAX, &x->hi))
            return false;
    } else {
        if (!json_node_object(n, 4) || !json_node_only(n, keys, ARRAY_LEN(keys)) ||
            !json_node_need(n, "min", &c) || !json_node_int(&c, 0, AXIS_MAX, &x->lo) ||
            !json_node_need(n, "max", &c) || !json_node_int(&c, 0, AXIS_MAX, &x->hi))
            return false;
        if (json_node_get(n, "multiple", &c) && !json_node_int(&c, 1, AXIS_MAX, &x->multiple))
            return false;
    }
    if (x->lo > x->hi) {
        json_node_bad(n, "the range is empty: %lld to %lld", (long long)x->lo, (long long)x->hi);
        return false;
    }
    if (x->hi / x->multiple * x->multiple < x->lo) {
        json_node_bad(n, "no multiple of %lld from %lld to %lld", (long long)x->multiple,
                      (long long)x->lo, (long long)x->hi);
        return false;
    }
    return true;
}

static void load_axis_value(const struct json_node *n, enum workload_role role,
                            struct axis_range *x)
{
    *x = (struct axis_range){.given = true, .multiple = 1};
    if (json_is_integer(n->j)) {
        if (json_node_int(n, 0, AXIS_MAX, &x->lo))
            x->hi = x->lo;
    } else if (!json_is_array(n->j) && !json_is_object(n->j)) {
        json_node_bad(n, "expected an integer or a range");
    } else if (load_range(n, x) && role != ROLE_HELDOUT) {
        json_node_bad(n, "only held-out workloads have ranges; give a value");
    }
}

static void load_workload_axes(struct loader *l, const struct json_node *n, struct task_workload *w)
{
    const char *key;
    json_t *value;
    struct task *t = l->t;
    if (!json_node_object(n, TASK_MAX_AXES))
        return;
    json_object_foreach((json_t *)n->j, key, value)
    {
        struct json_node c = json_node_member(n, key, value);
        size_t i = 0;
        while (i < t->axes.n && !str_eq(t->axes.items[i].name, key))
            i++;
        if (i == t->axes.n)
            json_node_bad_key(&c, "the task has no axis \"%.64s\"", key);
        else if (t->axes.items[i].is_const)
            json_node_bad_key(&c, "axis \"%s\" is const: %lld everywhere", key,
                              (long long)t->axes.items[i].value);
        else
            load_axis_value(&c, w->role, &w->axes[i]);
    }
    for (size_t i = 0; i < t->axes.n; i++)
        if (!t->axes.items[i].is_const && !w->axes[i].given)
            json_node_bad(n, "missing axis \"%s\"", t->axes.items[i].name);
}

/* With {"x": 1}, the tensor x begins 1 element later. */
static void load_offsets(struct loader *l, const struct json_node *n, struct task_workload *w)
{
    const char *key;
    json_t *value;
    if (!json_node_object(n, TASK_MAX_TENSORS))
        return;
    uint32_t *offsets = arena_alloc(&l->t->arena, TASK_MAX_TENSORS * sizeof *offsets);
    w->offsets = offsets;
    json_object_foreach((json_t *)n->j, key, value)
    {
        struct json_node c = json_node_member(n, key, value);
        int64_t v;
        int i = task_tensor_index(l->t, key);
        if (i < 0)
            json_node_bad_key(&c, "the task has no tensor \"%.64s\"", key);
        else if (json_node_int(&c, 0, MAX_OFFSET, &v))
            offsets[i] = (uint32_t)v;
    }
}

/* The key "align" promises how addresses are aligned. No workload may break it. */
static void check_promise(struct loader *l, const struct json_node *n, struct task_workload *w)
{
    const struct shape s = {.task = l->t, .workload = w};
    for (size_t i = 0; i < l->t->tensors.n; i++)
        if (shape_align(&s, i) < l->t->align) {
            json_node_bad(n, "'%s' is aligned to %u bytes here, but the task promises %u",
                          l->t->tensors.items[i].name, shape_align(&s, i), l->t->align);
            return;
        }
}

void load_align(struct loader *l)
{
    struct json_node n;
    int64_t v;
    if (!json_node_get(&l->root, "align", &n) || !json_node_int(&n, 1, TASK_DEFAULT_ALIGN, &v))
        return;
    if (v & (v - 1))
        json_node_bad(&n, "%lld is not a power of two", (long long)v);
    else
        l->t->align = (uint32_t)v;
}

static void load_workload(struct loader *l, const struct json_node *n)
{
    static const char *const keys[] = {"role", "axes", "name", "align_bytes", "offset_elems"};
    struct task_workload w = {.name = "", .place = json_node_place(n)};
    struct json_node c;
    size_t role;
    int64_t v;
    if (!json_node_object(n, 8))
        return;
    json_node_only(n, keys, ARRAY_LEN(keys));
    w.axes = arena_alloc(&l->t->arena, l->t->axes.n * sizeof *w.axes);
    if (!json_node_need(n, "role", &c) || !json_node_word(&c, role_names, ROLE_COUNT, &role))
        return;
    w.role = (enum workload_role)role;
    size_t heldout = w.role == ROLE_HELDOUT;
    vec_each (const struct task_workload, other, &l->t->workloads)
        heldout += other->role == ROLE_HELDOUT;
    if (heldout == MAX_HELDOUT + 1)
        json_node_bad(n, "more than %d held-out workloads", MAX_HELDOUT);
    if (json_node_need(n, "axes", &c))
        load_workload_axes(l, &c, &w);
    if (json_node_get(n, "name", &c))
        json_node_str(&c, 100, &w.name);
    if (json_node_get(n, "align_bytes", &c) && json_node_int(&c, 1, 4096, &v)) {
        if (v & (v - 1))
            json_node_bad(&c, "%lld is not a power of two", (long long)v);
        w.align_bytes = (uint32_t)v;
    }
    if (json_node_get(n, "offset_elems", &c)) {
        if (json_is_object(c.j))
            load_offsets(l, &c, &w);
        else if (json_node_int(&c, 0, MAX_OFFSET, &v))
            w.offset_elems = (uint32_t)v;
    }
    check_promise(l, n, &w);
    *vec_push(&l->t->workloads) = w;
}

void load_workloads(struct loader *l)
{
    struct json_node n;
    bool have = l->t->is_definition ? json_node_get(&l->root, "workloads", &n)
                                    : json_node_need(&l->root, "workloads", &n);
    if (!have || !json_node_array(&n, 256))
        return;
    l->t->workloads_place = json_node_place(&n);
    for (size_t i = 0; i < json_array_size(n.j); i++) {
        struct json_node c = json_node_item(&n, i);
        load_workload(l, &c);
    }
}

/* ---- over all workloads ---------------------------------------------------------------------- */

/* Tries several draws of each held-out workload. */
void load_verify(struct loader *l)
{
    struct task *t = l->t;
    for (size_t i = 0; i < t->workloads.n; i++) {
        const struct task_workload *w = &t->workloads.items[i];
        for (uint64_t seed = 0; seed < (w->role == ROLE_HELDOUT ? VERIFY_DRAWS : 1); seed++) {
            struct arena a = ARENA_INIT;
            struct err err = ERR_INIT;
            struct shape s;
            int rc = shape_resolve(&s, t, w, seed, &a, &err);
            if (rc == 0 && (rc = shape_verify(&s, &err)) < 0 && w->role == ROLE_HELDOUT)
                err_prefix(&err, "drawn as %s", shape_text(&s, &a));
            if (rc < 0) {
                char pointer[64];
                snprintf(pointer, sizeof pointer, "/workloads/%zu", i);
                problem_at(&l->r, pointer, false, 0, "this workload: %s", err.msg);
            }
            arena_release(&a);
            if (rc < 0)
                break;
        }
    }
}
