/*
 * load_init.c - reads how inputs are generated, and how large the error of outputs may be.
 */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "task/load.h"

static const char *const dist_names[GEN_DIST_COUNT] = {
    [GEN_NORMAL] = "normal",   [GEN_UNIFORM] = "uniform", [GEN_INT] = "int",
    [GEN_CONST] = "const",     [GEN_ZERO] = "zeros",      [GEN_DENORMAL] = "denormal",
    [GEN_CSR] = "csr",         [GEN_PERM] = "perm",       [GEN_SORTED] = "sorted",
    [GEN_ONE_HOT] = "one_hot", [GEN_LENGTHS] = "lengths",
};

/* The keys of task.json that set the parameters a and b of struct gen_spec (job/gen.h); NULL =
 * none. */
static const struct {
    const char *a, *b;
} dist_keys[GEN_DIST_COUNT] = {
    [GEN_NORMAL] = {"mean", "std"}, [GEN_UNIFORM] = {"min", "max"}, [GEN_INT] = {"min", "max"},
    [GEN_CONST] = {"value", NULL},  [GEN_CSR] = {NULL, "total"},    [GEN_SORTED] = {"min", "max"},
};

static const char *const special_names[GEN_SPECIAL_COUNT] = {
    [GEN_SPECIAL_NONE] = "none", [GEN_POS_INF] = "inf",
    [GEN_NEG_INF] = "-inf",      [GEN_NAN] = "nan",
    [GEN_SPECIAL_ZERO] = "zero", [GEN_SPECIAL_DENORMAL] = "denormal",
    [GEN_SPECIAL_MAX] = "max",   [GEN_SPECIAL_NUMBER] = "a number",
};

static void load_choice(const struct json_node *n, struct task_choice *pick)
{
    if (!json_node_array(n, ARRAY_LEN(pick->value)))
        return;
    for (size_t i = 0; i < json_array_size(n->j); i++) {
        struct json_node c = json_node_item(n, i);
        json_node_real(&c, -1e300, 1e300, &pick->value[i]);
    }
    pick->n = (uint32_t)json_array_size(n->j);
    if (!pick->n)
        json_node_bad(n, "an empty list leaves nothing to choose from");
}

/* Reads the parameter `key` of a generator; NULL = there is none. A number goes to *value, a list
 * of numbers to *pick, and an expression over the axes to *e. */
static void load_param(struct loader *l, const struct json_node *obj, const char *key,
                       double *value, struct expr **e, struct task_choice *pick)
{
    struct json_node n;
    if (!key || !json_node_need(obj, key, &n))
        return;
    if (json_is_string(n.j))
        load_expr(l, &n, e);
    else if (json_is_array(n.j))
        load_choice(&n, pick);
    else
        json_node_real(&n, -1e300, 1e300, value);
}

/* Reads the name of a special value, or a number. */
static void load_special_value(const struct json_node *c, struct task_tensor *t, int slot)
{
    bool is_float = dtype_is_float(t->dtype);
    double *number = &t->init.number[slot];
    size_t which;
    if (json_is_number(c->j)) {
        t->init.special[slot] = GEN_SPECIAL_NUMBER;
        if (json_node_real(c, -1e300, 1e300, number) && !is_float && *number != rint(*number))
            json_node_bad(c, "%g is not an integer", *number);
    } else if (json_node_word(c, special_names + 1, GEN_SPECIAL_NUMBER - 1, &which)) {
        t->init.special[slot] = (uint8_t)(which + 1);
        if (!is_float && which + 1 != GEN_SPECIAL_ZERO && which + 1 != GEN_SPECIAL_MAX)
            json_node_bad(c, "a tensor of %s has no %s", dtype_name(t->dtype),
                          special_names[which + 1]);
    }
}

static void load_special(const struct json_node *n, struct task_tensor *t, int slot)
{
    static const char *const keys[] = {"value", "every"};
    struct json_node c;
    int64_t every;
    if (!json_node_object(n, 4))
        return;
    json_node_only(n, keys, ARRAY_LEN(keys));
    if (json_node_need(n, "value", &c))
        load_special_value(&c, t, slot);
    if (json_node_need(n, "every", &c) && json_node_int(&c, 1, INT32_MAX, &every))
        t->init.every[slot] = (uint32_t)every;
}

static void load_specials(const struct json_node *obj, struct task_tensor *t)
{
    struct json_node n;
    if (!json_node_get(obj, "special", &n) || !json_node_array(&n, 2))
        return;
    if (t->init.dist >= GEN_CSR)
        json_node_bad_key(&n, "%s leaves no room for special values", dist_names[t->init.dist]);
    for (size_t i = 0; i < json_array_size(n.j); i++) {
        struct json_node c = json_node_item(&n, i);
        load_special(&c, t, (int)i);
    }
}

static void check_dist(const struct json_node *n, const struct task_tensor *t)
{
    bool is_float = dtype_is_float(t->dtype);
    if ((t->init.dist == GEN_CSR || t->init.dist == GEN_PERM) && (is_float || t->rank != 1))
        json_node_bad(n, "%s is for tensors of integers with one dimension",
                      dist_names[t->init.dist]);
    if (t->init.dist == GEN_DENORMAL && !is_float)
        json_node_bad(n, "a tensor of %s has no denormals", dtype_name(t->dtype));
    if (t->init.dist == GEN_INT && !t->init_a && t->init.a != rint(t->init.a))
        json_node_bad(n, "min %g is not an integer", t->init.a);
    if (t->init.dist == GEN_INT && !t->init_b && t->init.b != rint(t->init.b))
        json_node_bad(n, "max %g is not an integer", t->init.b);
    if (t->init.dist == GEN_NORMAL && t->init.b < 0)
        json_node_bad(n, "std %g is negative", t->init.b);
    for (uint32_t i = 0; t->init.dist == GEN_NORMAL && i < t->pick_b.n; i++)
        if (t->pick_b.value[i] < 0)
            json_node_bad(n, "std %g is negative", t->pick_b.value[i]);
    if (t->pick_a.n + t->pick_b.n && t->init.dist > GEN_UNIFORM && t->init.dist != GEN_CONST)
        json_node_bad(n, "%s takes a number or an expression, not a list",
                      dist_names[t->init.dist]);
}

/* Reads the keys "triangle" and "padded". */
static void load_mask(const struct json_node *n, struct task_tensor *t)
{
    static const char *const triangles[] = {"lower", "upper"};
    struct json_node c;
    size_t which;
    if (json_node_get(n, "triangle", &c) && json_node_word(&c, triangles, 2, &which)) {
        t->init.mask = which ? GEN_UPPER : GEN_LOWER;
        if (t->rank < 2)
            json_node_bad(&c, "a triangle needs a tensor with two dimensions or more");
        if (json_object_get(n->j, "padded"))
            json_node_bad(&c, "a tensor is triangular or padded, not both");
    } else if (json_node_get(n, "padded", &c) && json_node_real(&c, -1e300, 1e300, &t->init.pad)) {
        t->init.mask = GEN_PADDED;
        if (!t->rank)
            json_node_bad(&c, "a tensor without dimensions has no rows");
    }
    if (t->init.mask && t->init.dist >= GEN_CSR)
        json_node_bad(n, "%s leaves no room for a triangle or padding", dist_names[t->init.dist]);
}

/* The key "of" names the padded tensor whose rows have the lengths in t. check_lengths() checks
 * that tensor when all tensors are loaded. */
static void load_lengths(const struct json_node *n, struct task_tensor *t)
{
    struct json_node c;
    if (json_node_need(n, "of", &c))
        json_node_str(&c, 64, &t->lengths_of);
    if (dtype_is_float(t->dtype))
        json_node_bad(n, "lengths are integers; the tensor holds %s", dtype_name(t->dtype));
}

static void check_lengths(struct loader *l, const struct json_node *n, const char *name)
{
    int i = task_tensor_index(l->t, name);
    struct task_tensor *t = &l->t->tensors.items[i];
    int of = task_tensor_index(l->t, t->lengths_of);
    const struct task_tensor *x = of < 0 ? NULL : &l->t->tensors.items[of];
    if (!x || x->init.mask != GEN_PADDED)
        json_node_bad(n, "lengths of \"%.64s\", which is not an input with \"padded\"",
                      t->lengths_of);
    else if (t->rank + 1 != x->rank)
        json_node_bad(n, "\"%s\" must have one dimension less than \"%s\", one length for each row",
                      t->name, x->name);
    else
        t->stream = (uint32_t)of;
}

static void load_init_of(struct loader *l, const struct json_node *n, struct task_tensor *t)
{
    const char *keys[] = {"dist", "special", "triangle", "padded", NULL, NULL};
    struct json_node dist;
    size_t which, nkeys = 4;
    if (!json_node_object(n, 8) || !json_node_need(n, "dist", &dist) ||
        !json_node_word(&dist, dist_names, GEN_DIST_COUNT, &which))
        return;
    t->init.dist = (uint8_t)which;
    if (dist_keys[which].a)
        keys[nkeys++] = dist_keys[which].a;
    if (dist_keys[which].b)
        keys[nkeys++] = dist_keys[which].b;
    if (which == GEN_LENGTHS)
        keys[nkeys++] = "of";
    json_node_only(n, keys, nkeys);
    load_param(l, n, dist_keys[which].a, &t->init.a, &t->init_a, &t->pick_a);
    load_param(l, n, dist_keys[which].b, &t->init.b, &t->init_b, &t->pick_b);
    load_specials(n, t);
    load_mask(n, t);
    if (which == GEN_LENGTHS)
        load_lengths(n, t);
    if (which >= GEN_SORTED && !t->rank)
        json_node_bad(&dist, "%s needs a tensor with dimensions", dist_names[which]);
    check_dist(&dist, t);
}

/* Sets the default generator of a tensor. An input of a FlashInfer-Bench definition keeps it if
 * "init" does not name the input. */
static void default_init(struct task_tensor *t)
{
    bool is_float = dtype_is_float(t->dtype);
    t->init.dist = is_float ? GEN_NORMAL : GEN_INT;
    t->init.a = 0;
    t->init.b = 1;
}

void load_init(struct loader *l)
{
    struct json_node n, c;
    const char *key;
    json_t *value;
    bool have = l->t->is_definition ? json_node_get(&l->root, "init", &n)
                                    : json_node_need(&l->root, "init", &n);
    for (size_t i = 0; i < l->t->tensors.n; i++) {
        default_init(&l->t->tensors.items[i]);
        l->t->tensors.items[i].stream = (uint32_t)i;
    }
    if (!have || !json_node_object(&n, TASK_MAX_TENSORS))
        return;
    json_object_foreach((json_t *)n.j, key, value)
    {
        c = json_node_member(&n, key, value);
        int i = strlen(key) < 128 ? task_tensor_index(l->t, key) : -1;
        if (i < 0 && load_declared(l, "inputs", key))
            continue; /* already reported */
        if (i < 0 || !l->t->tensors.items[i].is_input)
            json_node_bad_key(&c, "init of \"%.64s\", which is not an input", key);
        else
            load_init_of(l, &c, &l->t->tensors.items[i]);
    }
    json_object_foreach((json_t *)n.j, key, value)
    {
        c = json_node_member(&n, key, value);
        int i = strlen(key) < 128 ? task_tensor_index(l->t, key) : -1;
        if (i >= 0 && l->t->tensors.items[i].lengths_of)
            check_lengths(l, &c, key);
    }
    vec_each (struct task_tensor, t, &l->t->tensors)
        if (t->is_input && !l->t->is_definition && !json_object_get(n.j, t->name))
            json_node_bad(&n, "missing the init of input \"%s\"", t->name);
}

/* ---- tolerance ------------------------------------------------------------------------------- */

static void load_why(const struct json_node *n, struct task_tensor *t)
{
    struct json_node c;
    if (json_node_need(n, "why", &c) && json_node_str(&c, 4096, &t->why) && strlen(t->why) < 10)
        json_node_bad(
            &c, "the reason is too short: say which step causes the error, and how large it is");
}

/* With "sigmas" the oracle gives a standard deviation (sigma) in place of a magnitude. The allowed
 * error is rtol * magnitude, so rtol is the number of sigmas. */
static void load_sigmas(const struct json_node *c, struct task_tensor *t)
{
    if (!json_node_real(c, 0, 1e6, &t->sigmas))
        return;
    if (t->sigmas != TASK_SIGMAS) {
        json_node_bad(c, "the multiple of sigma is %d for all tasks (docs/tolerance.md)",
                      TASK_SIGMAS);
        return;
    }
    t->rtol = t->sigmas;
    t->atol = 0;
    t->budget = TASK_SIGMAS_RMS;
}

static void load_tolerance_of(const struct json_node *n, struct task_tensor *t)
{
    static const char *const keys[] = {"rtol", "atol", "budget", "why"};
    static const char *const sigma_keys[] = {"sigmas", "why"};
    struct json_node c;
    t->place = json_node_place(n);
    if (!json_node_object(n, 8))
        return;
    if (json_node_get(n, "sigmas", &c)) {
        json_node_only(n, sigma_keys, ARRAY_LEN(sigma_keys));
        load_sigmas(&c, t);
        load_why(n, t);
        return;
    }
    json_node_only(n, keys, ARRAY_LEN(keys));
    if (json_node_need(n, "rtol", &c))
        json_node_real(&c, 0, 0.5, &t->rtol);
    if (json_node_need(n, "atol", &c))
        json_node_real(&c, 0, 1e30, &t->atol);
    if (json_node_get(n, "budget", &c))
        json_node_real(&c, 0, 1e6, &t->budget);
    load_why(n, t);
}

/* Sets the default tolerance of an output. An output of a FlashInfer-Bench definition keeps it if
 * "tolerance" does not name the output. A float output may be off by a few units in the last place,
 * or by 1e-5 if that is more. An integer output must be exact. */
static void default_tolerance(struct task_tensor *t)
{
    t->rtol = dtype_is_float(t->dtype) ? ldexp(4, -1 - dtype_mantissa_bits(t->dtype)) : 0;
    t->rtol = MAX(t->rtol, dtype_is_float(t->dtype) ? 1e-5 : 0);
    t->rtol = MIN(t->rtol, 0.25);
    t->atol = dtype_is_float(t->dtype) ? 1e-6 : 0;
    t->why = dtype_is_float(t->dtype)
                 ? "default: 1e-5, or a few units in the last place of a shorter float type"
                 : "default: an integer output is exact";
}

void load_tolerance(struct loader *l)
{
    struct json_node n, c;
    const char *key;
    json_t *value;
    bool have = l->t->is_definition ? json_node_get(&l->root, "tolerance", &n)
                                    : json_node_need(&l->root, "tolerance", &n);
    vec_each (struct task_tensor, t, &l->t->tensors)
        if (t->is_output)
            default_tolerance(t);
    if (!have || !json_node_object(&n, TASK_MAX_TENSORS))
        return;
    json_object_foreach((json_t *)n.j, key, value)
    {
        c = json_node_member(&n, key, value);
        int i = strlen(key) < 128 ? task_tensor_index(l->t, key) : -1;
        if (i < 0 && (load_declared(l, "outputs", key) || !json_object_get(l->root.j, "outputs")))
            continue;
        if (i < 0 || !l->t->tensors.items[i].is_output)
            json_node_bad_key(&c, "tolerance of \"%.64s\", which is not an output", key);
        else
            load_tolerance_of(&c, &l->t->tensors.items[i]);
    }
    vec_each (struct task_tensor, t, &l->t->tensors)
        if (t->is_output && !l->t->is_definition && !json_object_get(n.j, t->name))
            json_node_bad(&n, "missing the tolerance of output \"%s\"", t->name);
}
