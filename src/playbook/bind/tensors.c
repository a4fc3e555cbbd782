/* tensors.c - binds a task's tensors and scalars to the roles of an operation. See tensors.h. */
#include "playbook/bind/tensors.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_plain(const char *s)
{
    size_t n = 0;
    while (is_word(s[n]))
        n++;
    return n > 0 && !s[n];
}

/* Writes the size `text` of a role with the task's names in place of the role's. Writes "" if a
 * name is not bound yet. */
static void translate(const struct pb_binding *b, const char *text, struct strbuf *out)
{
    for (size_t i = 0; text[i];) {
        if (isspace((unsigned char)text[i])) {
            i++;
        } else if (isalpha((unsigned char)text[i]) || text[i] == '_') {
            size_t n = 0;
            while (is_word(text[i + n]))
                n++;
            const char *v = bound_text(b, text + i, n);
            if (!v) {
                strbuf_clear(out);
                return;
            }
            strbuf_adds(out, v);
            i += n;
        } else {
            strbuf_addc(out, text[i++]);
        }
    }
}

/* If the role's size is an unbound name, binds the name to the actual size. Otherwise, with
 * `all_bound`, both sizes must be the same expression. */
static bool bind_dim(struct pb_binding *b, const char *role, const char *actual, bool all_bound)
{
    if (is_plain(role) && !isdigit((unsigned char)role[0]) && !bound_text(b, role, strlen(role))) {
        bind_text(b, role, is_plain(actual) ? actual : arena_printf(&b->arena, "(%s)", actual));
        return true;
    }
    if (!all_bound)
        return true;
    struct strbuf sb = STRBUF_INIT(1024);
    translate(b, role, &sb);
    bool ok = sb.len && (same_text(sb.buf, actual) ||
                         same_text(sb.buf, arena_printf(&b->arena, "(%s)", actual)));
    strbuf_release(&sb);
    return ok;
}

/* A role's size "*N" stands for the product of any number of sizes. `role` is "N". Binds it to the
 * product. If it is bound already, returns whether the product is the same. */
static bool bind_flat(struct pb_binding *b, const char *role, const char *product)
{
    const char *had = bound_text(b, role, strlen(role));
    if (!had)
        bind_text(b, role, arena_printf(&b->arena, "(%s)", product));
    return !had || same_text(had, arena_printf(&b->arena, "(%s)", product));
}

/* Returns whether tensor t fits the role, or says why not. Also binds the names in the role's
 * shape. */
static bool fits(struct pb_binding *b, const struct pb_tensor *role, const json_t *t,
                 bool all_bound, struct strbuf *why)
{
    const json_t *shape = json_object_get(t, "shape");
    enum dtype d = dtype_from_name(facts_text(t, "dtype"));
    bool in = json_is_true(json_object_get(t, "input")),
         out = json_is_true(json_object_get(t, "output"));
    size_t rank = json_array_size(shape), fixed = role->rank;
    bool flat = role->rank && role->shape[0][0] == '*';
    if (flat)
        fixed--;
    const char *name = facts_text(t, "name");
    if (in != role->in || out != role->out) {
        strbuf_addf(why, "'%s' is %s where the playbook has %s '%s'", name,
                    in && out ? "updated in place"
                    : in      ? "an input"
                              : "an output",
                    role->in && role->out ? "the updated"
                    : role->in            ? "the input"
                                          : "the output",
                    role->role);
        return false;
    }
    if (!(role->dtypes >> d & 1)) {
        strbuf_addf(why, "'%s' is %s", name, facts_text(t, "dtype"));
        return false;
    }
    if (flat ? rank < fixed : rank != fixed) {
        strbuf_addf(why, "'%s' has %zu dimensions, not %zu%s", name, rank, fixed,
                    flat ? " or more" : "");
        return false;
    }
    const char *alike = role->like ? arena_printf(&b->arena, "%s:type", role->like) : NULL;
    if (alike && !str_eq(bound_text(b, alike, strlen(alike)), element_type(d))) {
        strbuf_addf(why, "'%s' has another dtype than '%s'", facts_text(t, "name"),
                    bound_text(b, role->like, strlen(role->like)));
        return false;
    }
    if (role->broadcast)
        return true; /* bind_broadcast() checks this shape later */
    size_t lead = rank - fixed;
    if (flat) {
        if (!bind_flat(b, role->shape[0] + 1, dims_product(&b->arena, shape, 0, lead))) {
            strbuf_addf(why, "'%s' has another shape", facts_text(t, "name"));
            return false;
        }
    }
    for (size_t i = 0; i < fixed; i++) {
        const char *want = role->shape[i + flat];
        if (!bind_dim(b, want, json_string_value(json_array_get(shape, lead + i)), all_bound)) {
            strbuf_addf(why, "dimension %zu of '%s' is not '%s'", lead + i, facts_text(t, "name"),
                        want);
            return false;
        }
    }
    return true;
}

static void name_tensor(struct pb_binding *b, const struct pb_tensor *role, const json_t *t)
{
    enum dtype d = dtype_from_name(facts_text(t, "dtype"));
    char key[80];
    bind_text(b, role->role, facts_text(t, "name"));
    snprintf(key, sizeof key, "%s:type", role->role);
    bind_text(b, key, element_type(d) ? element_type(d) : "");
    snprintf(key, sizeof key, "%s:bytes", role->role);
    bind_number(b, key, (int64_t)dtype_bytes(d));
    if (!b->elem && role->out)
        b->elem = (int64_t)dtype_bytes(d);
}

static const char *passed_type(const json_t *t)
{
    return value_type(dtype_from_name(facts_text(t, "dtype")));
}

/* Binds the inputs of a role with `repeat` as lists, one for each form that templates need. */
static bool bind_repeated(struct pb_binding *b, const struct pb_tensor *role, const json_t *tensors,
                          size_t n, const json_t *op, struct strbuf *why)
{
    static const char *const forms[] = {"args", "align", "params", "names", "values"};
    /* the op's names for its inputs, or NULL for v0, v1, ... */
    const json_t *names = json_object_get(op, "args");
    char key[80];
    if (names && json_array_size(names) != n) {
        strbuf_addf(why, "the operation takes %zu inputs, but the task has %zu",
                    json_array_size(names), n);
        return false;
    }
    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        struct strbuf sb = STRBUF_INIT(4096);
        for (size_t i = 0; i < n; i++) {
            const json_t *t = json_array_get(tensors, i);
            const char *of_task = facts_text(t, "name");
            const char *name = names ? json_string_value(json_array_get(names, i))
                                     : arena_printf(&b->arena, "v%zu", i);
            name = name ? name : "";
            strbuf_adds(&sb, i ? ", " : "");
            if (str_eq(forms[f], "args"))
                strbuf_addf(&sb, "\"%s\"", of_task);
            else if (str_eq(forms[f], "align"))
                strbuf_addf(&sb, "alignof(%s)", of_task);
            else if (str_eq(forms[f], "params"))
                strbuf_addf(&sb, "const T *%s%s", restricted(b), name);
            else if (str_eq(forms[f], "values"))
                strbuf_addf(&sb, "%s %s", passed_type(t), name);
            else
                strbuf_adds(&sb, name);
        }
        snprintf(key, sizeof key, "%s:%s", role->role, forms[f]);
        bind_text(b, key, sb.buf);
        strbuf_release(&sb);
    }
    snprintf(key, sizeof key, "%s:value", role->role);
    bind_text(b, key, passed_type(json_array_get(tensors, 0)));
    snprintf(key, sizeof key, "%s:n", role->role);
    bind_number(b, key, (int64_t)n);
    return true;
}

static bool all_alike(const json_t *tensors, size_t n, struct strbuf *why)
{
    const json_t *first = json_array_get(tensors, 0);
    for (size_t i = 1; i < n; i++) {
        const json_t *t = json_array_get(tensors, i);
        if (!same_shape(json_object_get(t, "shape"), json_object_get(first, "shape")))
            strbuf_addf(why,
                        "'%s' and '%s' have different shapes, and the playbook does not broadcast",
                        facts_text(first, "name"), facts_text(t, "name"));
        else if (!str_eq(facts_text(t, "dtype"), facts_text(first, "dtype")))
            strbuf_addf(why, "'%s' has another dtype than the first input", facts_text(t, "name"));
        if (why->len)
            return false;
    }
    return true;
}

/* Goes over the tensors twice: a size such as "2*D" needs D, which a later tensor may bind. */
bool bind_tensors(const struct pb_op *op, struct pb_binding *b, const json_t *task,
                  struct strbuf *why)
{
    const struct pb_signature *sig = op->sig;
    const struct pb_tensor *first = &sig->tensors[0];
    const json_t *tensors = json_object_get(task, "tensors");
    size_t n = json_array_size(tensors), extra = 0;
    if (n > PB_MAX_TENSORS) {
        strbuf_addf(why, "the task has %zu tensors; a playbook takes at most %d", n,
                    PB_MAX_TENSORS);
        return false;
    }
    if (first->repeat && n >= sig->n) {
        extra = n - sig->n;
    } else if (n != sig->n) {
        strbuf_addf(why, "the task has %zu tensors, not %u", n, sig->n);
        return false;
    }
    if (!first->broadcast && !all_alike(tensors, extra + 1, why))
        return false;
    for (size_t i = 0; i < 2 * n; i++) {
        size_t k = i % n;
        const struct pb_tensor *role = &sig->tensors[k <= extra ? 0 : k - extra];
        const json_t *t = json_array_get(tensors, k);
        if (!fits(b, role, t, i >= n, why))
            return false;
        if (i < n && (k == 0 || k > extra))
            name_tensor(b, role, t);
    }
    if (first->broadcast && !bind_broadcast(b, first, task, extra + 1, op->texts, why))
        return false;
    bind_number(b, "elem", b->elem);
    return !first->repeat || bind_repeated(b, first, tensors, extra + 1, op->texts, why);
}

/* Binds lists of all scalars. Each entry of a list begins with a comma, so that the list can follow
 * other arguments or be empty. */
static bool bind_any_scalars(struct pb_binding *b, const json_t *scalars, size_t inputs,
                             struct strbuf *why)
{
    struct strbuf args = STRBUF_INIT(4096), params = STRBUF_INIT(1024), names = STRBUF_INIT(1024);
    const char *key;
    json_t *v;
    size_t i = inputs;
    json_object_foreach((json_t *)scalars, key, v)
    {
        strbuf_addf(&args, ", \"%s\"", key);
        strbuf_addf(&params, ", %s v%zu", passed_type(v), i);
        strbuf_addf(&names, ", v%zu", i++);
    }
    bool ok = i - inputs <= PB_MAX_TENSORS;
    if (!ok)
        strbuf_addf(why, "the task has %zu scalars; a playbook takes at most %d", i - inputs,
                    PB_MAX_TENSORS);
    bind_text(b, "scalars:args", args.buf);
    bind_text(b, "scalars:params", params.buf);
    bind_text(b, "scalars:names", names.buf);
    strbuf_release(&args);
    strbuf_release(&params);
    strbuf_release(&names);
    return ok;
}

/* Binds the texts of a role. Its scalar is a scalar of the task, or a number in the task's
 * expression. */
static void bind_scalar(struct pb_binding *b, const char *role, const char *name, const json_t *v)
{
    const json_t *number = json_object_get(v, "number");
    const char *const texts[][2] = {
        {"arg", arena_printf(&b->arena, ", \"%s\"", name)},
        {"param", arena_printf(&b->arena, ", %s %s", passed_type(v), role)},
        {"value", role},
    };
    char value[48], key[80];
    snprintf(value, sizeof value, "float(%.9e)", json_number_value(number));
    if (!number)
        bind_text(b, role, name);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        snprintf(key, sizeof key, "%s:%s", role, texts[i][0]);
        bind_text(b, key, !number ? texts[i][1] : str_eq(texts[i][0], "value") ? value : "");
    }
}

bool bind_scalars(const struct pb_signature *sig, struct pb_binding *b, const json_t *scalars,
                  size_t inputs, struct strbuf *why)
{
    const char *key;
    json_t *v;
    size_t i = 0;
    if (sig->any_scalars)
        return bind_any_scalars(b, scalars, inputs, why);
    if (json_object_size(scalars) != sig->nscalars) {
        strbuf_addf(why, "the task has %zu scalars, not %u", json_object_size(scalars),
                    sig->nscalars);
        return false;
    }
    json_object_foreach((json_t *)scalars, key, v)
    {
        bind_scalar(b, sig->scalars[i++], key, v);
    }
    return true;
}
