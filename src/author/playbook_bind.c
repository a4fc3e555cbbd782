/* playbook_bind.c - does a playbook fit a task, and what do its placeholders stand for there? */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_torch.h"
#include "author/playbook_tree.h"
#include "base/util.h"
#include "sys/asset.h"

void bind_text(struct pb_binding *b, const char *key, const char *value)
{
    *vec_push(&b->texts) =
        (struct pb_text){arena_strdup(&b->arena, key), arena_strdup(&b->arena, value)};
}

static void bind_number(struct pb_binding *b, const char *key, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    bind_text(b, key, text);
}

const char *bound_text(const struct pb_binding *b, const char *key, size_t len)
{
    vec_each (struct pb_text, t, &b->texts)
        if (strlen(t->key) == len && memcmp(t->key, key, len) == 0)
            return t->value;
    return NULL;
}

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

/* A role's shape expression with the task's own names, without blanks; "" if a name is not bound
 * yet. */
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

bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isspace((unsigned char)*a))
            a++;
        while (isspace((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

bool same_shape(const json_t *a, const json_t *b)
{
    size_t n = json_array_size(a);
    bool same = n == json_array_size(b);
    for (size_t i = 0; same && i < n; i++)
        same = same_text(json_string_value(json_array_get(a, i)),
                         json_string_value(json_array_get(b, i)));
    return same;
}

/* One dimension: a free name is bound to it; anything else must be the same expression, which
 * can be told once all names are bound. */
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

const char *dim_factor(struct arena *a, const char *dim)
{
    return same_text(dim, "1") ? "1" : arena_printf(a, "(%s)", dim);
}

const char *dims_times(struct arena *a, const char *left, const char *right)
{
    if (str_eq(left, "1"))
        return right;
    return str_eq(right, "1") ? left : arena_printf(a, "%s * %s", left, right);
}

const char *dims_product(struct arena *a, const json_t *shape, size_t from, size_t to)
{
    const char *all = "1";
    for (size_t i = from; i < to; i++)
        all = dims_times(a, all, dim_factor(a, json_string_value(json_array_get(shape, i))));
    return all;
}

/* "*N": however many dimensions, as one; the same ones wherever it occurs. */
static bool bind_flat(struct pb_binding *b, const char *role, const char *product)
{
    const char *had = bound_text(b, role, strlen(role));
    if (!had)
        bind_text(b, role, arena_printf(&b->arena, "(%s)", product));
    return !had || same_text(had, arena_printf(&b->arena, "(%s)", product));
}

const char *facts_text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

const char *c_type(enum dtype t)
{
    switch (t) {
    case DT_F64:
        return "double";
    case DT_F32:
        return "float";
    case DT_F16:
        return "cute::half_t";
    case DT_BF16:
        return "cute::bfloat16_t";
    case DT_F8E4M3:
        return "cute::float_e4m3_t";
    case DT_F8E5M2:
        return "cute::float_e5m2_t";
    case DT_I64:
        return "long long";
    case DT_I32:
        return "int";
    case DT_I16:
        return "short";
    case DT_I8:
        return "signed char";
    case DT_U64:
        return "unsigned long long";
    case DT_U32:
        return "unsigned";
    case DT_U16:
        return "unsigned short";
    case DT_U8:
        return "unsigned char";
    case DT_BOOL: /* to CuTe a bool is a bit */
        return "unsigned char";
    default:
        return NULL;
    }
}

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
        strbuf_addf(why, "'%s' is %s where it has %s '%s'", name,
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
    if (alike && !str_eq(bound_text(b, alike, strlen(alike)), c_type(d))) {
        strbuf_addf(why, "'%s' has another dtype than '%s'", facts_text(t, "name"),
                    bound_text(b, role->like, strlen(role->like)));
        return false;
    }
    if (role->broadcast)
        return true; /* against the output's, once that is known: bind_broadcast() */
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

/* The role's names for a tensor: itself in the plan, its type in the code. */
static void name_tensor(struct pb_binding *b, const struct pb_tensor *role, const json_t *t)
{
    enum dtype d = dtype_from_name(facts_text(t, "dtype"));
    char key[80];
    bind_text(b, role->role, facts_text(t, "name"));
    snprintf(key, sizeof key, "%s:type", role->role);
    bind_text(b, key, c_type(d) ? c_type(d) : "");
    snprintf(key, sizeof key, "%s:bytes", role->role);
    bind_number(b, key, (int64_t)dtype_bytes(d));
    if (!b->elem && role->out)
        b->elem = (int64_t)dtype_bytes(d);
}

const struct pb_op *op_named(const struct playbook *pb, const char *name)
{
    vec_each (struct pb_op, op, &pb->ops)
        if (str_eq(op->name, name))
            return op;
    return NULL;
}

/* The task's own name first, then its kind of operation, then one that takes any. */
static const struct pb_op *find_op(const struct playbook *pb, const json_t *task)
{
    const struct pb_op *op = op_named(pb, facts_text(task, "name"));
    op = op ? op : op_named(pb, facts_text(task, "op_type"));
    return op ? op : op_named(pb, "*");
}

struct values values_of(const json_t *task)
{
    struct values v = {0};
    size_t i;
    const char *scalar;
    json_t *t;
    json_array_foreach(json_object_get(task, "tensors"), i, t)
    {
        if (json_is_true(json_object_get(t, "input")) && v.n < PB_MAX_TENSORS) {
            v.types[v.n] = dtype_from_name(facts_text(t, "dtype"));
            v.names[v.n++] = facts_text(t, "name");
        }
    }
    v.inputs = v.n;
    json_object_foreach(json_object_get(task, "scalars"), scalar, t)
    {
        if (v.n < ARRAY_LEN(v.names)) {
            enum dtype d = dtype_from_name(facts_text(t, "dtype"));
            v.types[v.n] = d == DT_NONE ? DT_F32 : d;
            v.names[v.n++] = scalar;
        }
    }
    return v;
}

struct torch_names torch_names_of(const struct values *v)
{
    return (struct torch_names){v->names, v->types, v->inputs, v->n};
}

/* Can values of one dtype be stored as another without more ado? Not fractions as integers. */
static bool stores(enum dtype out, enum dtype value)
{
    return dtype_is_float(out) || value == DT_BOOL || (!dtype_is_float(value) && out != DT_BOOL);
}

/* An op {"from": "torch"} is whatever the task's PyTorch expression says: `expr`, of v0, v1, ... A
 * new reference, or NULL with the reason. */
static json_t *op_from_torch(const json_t *task, struct strbuf *why)
{
    struct values v = values_of(task);
    struct torch_names names = torch_names_of(&v);
    const json_t *out = json_array_get(json_object_get(task, "tensors"), v.inputs);
    enum dtype type;
    json_t *op = NULL;
    struct strbuf expr = STRBUF_INIT(16 << 10);
    bool ok = *facts_text(task, "torch");
    if (!ok)
        strbuf_adds(why, "it does not know the operation, and the task has no PyTorch expression");
    ok = ok && torch_to_c(facts_text(task, "torch"), &names, &expr, &type, why);
    enum dtype stored = dtype_from_name(facts_text(out, "dtype"));
    if (ok && out && !stores(stored, type)) {
        strbuf_addf(why, "its PyTorch expression gives %s values, and '%s' is %s", dtype_name(type),
                    facts_text(out, "name"), facts_text(out, "dtype"));
        ok = false;
    }
    if (ok)
        op = json_pack("{s:s, s:s}", "expr", expr.buf, "expr:type",
                       torch_value_type(dtype_is_float(stored) ? stored : type));
    strbuf_release(&expr);
    return op;
}

static void bind_op(struct pb_binding *b, const json_t *op)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)op, key, v)
    {
        if (json_is_string(v))
            bind_text(b, key, json_string_value(v));
        else if (json_is_integer(v))
            bind_number(b, key, json_integer_value(v));
    }
}

/* How a tensor's, or a scalar's, values are passed to the op. */
static const char *value_type(const json_t *t)
{
    return torch_value_type(dtype_from_name(facts_text(t, "dtype")));
}

const char *restricted(const struct pb_binding *b)
{
    return b->in_place ? "" : "__restrict__ ";
}

/* Inputs that repeat: their list in the forms a template needs, under the op's own names. */
static bool bind_repeated(struct pb_binding *b, const struct pb_tensor *role, const json_t *tensors,
                          size_t n, const json_t *op, struct strbuf *why)
{
    static const char *const forms[] = {"args", "align", "params", "names", "values"};
    const json_t *names = json_object_get(op, "args"); /* v0, v1, ... where it names none */
    char key[80];
    if (names && json_array_size(names) != n) {
        strbuf_addf(why, "the operation takes %zu inputs and the task has %zu",
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
                strbuf_addf(&sb, "%s %s", value_type(t), name);
            else
                strbuf_adds(&sb, name);
        }
        snprintf(key, sizeof key, "%s:%s", role->role, forms[f]);
        bind_text(b, key, sb.buf);
        strbuf_release(&sb);
    }
    snprintf(key, sizeof key, "%s:value", role->role);
    bind_text(b, key, value_type(json_array_get(tensors, 0)));
    snprintf(key, sizeof key, "%s:n", role->role);
    bind_number(b, key, (int64_t)n);
    return true;
}

/* Have the first n tensors one shape and one dtype? */
static bool all_alike(const json_t *tensors, size_t n, struct strbuf *why)
{
    const json_t *first = json_array_get(tensors, 0);
    for (size_t i = 1; i < n; i++) {
        const json_t *t = json_array_get(tensors, i);
        if (!same_shape(json_object_get(t, "shape"), json_object_get(first, "shape")))
            strbuf_addf(why, "'%s' and '%s' have different shapes, and it does not broadcast",
                        facts_text(first, "name"), facts_text(t, "name"));
        else if (!str_eq(facts_text(t, "dtype"), facts_text(first, "dtype")))
            strbuf_addf(why, "'%s' has another dtype than the first input", facts_text(t, "name"));
        if (why->len)
            return false;
    }
    return true;
}

static bool bind_tensors(const struct pb_op *op, struct pb_binding *b, const json_t *task,
                         struct strbuf *why)
{
    const struct pb_signature *sig = op->sig;
    const struct pb_tensor *first = &sig->tensors[0];
    const json_t *tensors = json_object_get(task, "tensors");
    size_t n = json_array_size(tensors), extra = 0;
    if (n > PB_MAX_TENSORS) {
        strbuf_addf(why, "it has %zu tensors; %d is the most", n, PB_MAX_TENSORS);
        return false;
    }
    if (first->repeat && n >= sig->n) {
        extra = n - sig->n;
    } else if (n != sig->n) {
        strbuf_addf(why, "it has %zu tensors, not %u", n, sig->n);
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
    if (first->broadcast && !bind_broadcast(b, first, task, extra + 1, op->say, why))
        return false;
    bind_number(b, "elem", b->elem);
    return !first->repeat || bind_repeated(b, first, tensors, extra + 1, op->say, why);
}

/* However many scalars: lists that begin with a comma, and so may be empty. Like the inputs, whose
 * count they go on from, they are v<i> in the code. */
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
        strbuf_addf(&params, ", %s v%zu", value_type(v), i);
        strbuf_addf(&names, ", v%zu", i++);
    }
    bool ok = i - inputs <= PB_MAX_TENSORS;
    if (!ok)
        strbuf_addf(why, "it has %zu scalars; %d is the most", i - inputs, PB_MAX_TENSORS);
    bind_text(b, "scalars:args", args.buf);
    bind_text(b, "scalars:params", params.buf);
    bind_text(b, "scalars:names", names.buf);
    strbuf_release(&args);
    strbuf_release(&params);
    strbuf_release(&names);
    return ok;
}

/* A scalar of the op: one of the task's, or a number that its PyTorch expression has there. */
static void bind_scalar(struct pb_binding *b, const char *role, const char *name, const json_t *v)
{
    const json_t *number = json_object_get(v, "number");
    const char *const texts[][2] = {
        {"arg", arena_printf(&b->arena, ", \"%s\"", name)},
        {"param", arena_printf(&b->arena, ", %s %s", value_type(v), role)},
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

static bool bind_scalars(const struct pb_signature *sig, struct pb_binding *b,
                         const json_t *scalars, size_t inputs, struct strbuf *why)
{
    const char *key;
    json_t *v;
    size_t i = 0;
    if (sig->any_scalars)
        return bind_any_scalars(b, scalars, inputs, why);
    if (json_object_size(scalars) != sig->nscalars) {
        strbuf_addf(why, "it has %zu scalars, not %u", json_object_size(scalars), sig->nscalars);
        return false;
    }
    json_object_foreach((json_t *)scalars, key, v)
    {
        bind_scalar(b, sig->scalars[i++], key, v);
    }
    return true;
}

/* What it knows, where the task says what it wants in PyTorch. */
static void say_forms(const struct playbook *pb, bool torch, struct strbuf *why)
{
    const char *between = ": its PyTorch expression is none of ";
    strbuf_adds(why, "it does not know the operation");
    vec_each (struct pb_op, op, &pb->ops) {
        const json_t *forms = json_object_get(op->say, "torch");
        const char *first = json_string_value(json_array_get(forms, 0));
        if (!torch || !first || why->len > 300)
            continue;
        strbuf_addf(why, "%s'%.60s%s'", between, first, strlen(first) > 60 ? "..." : "");
        between = ", ";
    }
}

/* An op with forms in PyTorch is known by those, not by its name, where the task has an expression:
 * torch.cumsum(x, dim=0) is no cumsum of rows. */
static const struct pb_op *op_by_name(const struct playbook *pb, const json_t *task,
                                      struct strbuf *why)
{
    const struct pb_op *known = find_op(pb, task);
    bool forms = known && json_array_size(json_object_get(known->say, "torch"));
    if (!known)
        say_forms(pb, *facts_text(task, "torch"), why);
    else if (forms && *facts_text(task, "torch"))
        strbuf_addf(why, "its PyTorch expression is no form of '%s' that it knows", known->name);
    else
        return known;
    return NULL;
}

/* The op that the task asks for, by its PyTorch expression or else by its name. *seen is the task
 * as the op's tensors see it, where that is another. */
static const struct pb_op *choose_op(const struct playbook *pb, const json_t *task,
                                     struct pb_binding *b, json_t **seen, struct strbuf *why)
{
    const struct pb_op *any = op_named(pb, "*");
    const char *from = any ? facts_text(any->say, "from") : "";
    bool torch = *facts_text(task, "torch");
    if (torch && str_eq(from, "torch"))
        return any;
    if (torch && str_eq(from, "torch gemm"))
        return gemm_op_from_torch(pb, task, b, seen, why);
    if (torch && str_eq(from, "torch conv"))
        return conv_op_from_torch(pb, task, b, seen, why);
    if (torch && str_eq(from, "torch permute"))
        return permute_op_from_torch(pb, task, seen, why);
    if (torch && str_eq(from, "torch chain"))
        return chain_from_torch(task, b, why) ? any : NULL;
    if (torch && str_eq(from, "torch halves"))
        return halves_from_torch(task, b, why) ? any : NULL;
    if (torch && str_starts(from, "torch "))
        return axis_op_from_torch(pb, task, str_eq(from, "torch rows"), b, seen, why);
    const struct pb_op *known = op_by_name(pb, task, why);
    /* How several inputs make one value, only PyTorch says. */
    bool reads = str_starts(from, "torch ");
    if (known && reads && (known == any || values_of(task).inputs > MAX(known->sig->n, 2) - 1)) {
        strbuf_adds(why, "it does not know the operation");
        return NULL;
    }
    return known;
}

static bool bind_task(const struct playbook *pb, const json_t *task, struct pb_binding *out,
                      struct strbuf *why)
{
    json_t *seen = NULL, *made = NULL, *full = NULL;
    const struct pb_op *known = op_by_form(pb, task, &seen), *any = op_named(pb, "*");
    if (!known && any && str_starts(facts_text(any->say, "from"), "torch"))
        task = full = with_axes(task);
    if (!known)
        known = choose_op(pb, task, out, &seen, why);
    bool ok = known;
    if (ok) {
        struct pb_op op = *known;
        if (str_eq(facts_text(op.say, "from"), "torch"))
            op.say = made = op_from_torch(task, why);
        const json_t *as = seen ? seen : task;
        ok = op.say != NULL;
        if (ok)
            bind_op(out, op.say);
        if (ok && !bound_text(out, "expr:type", 9))
            bind_text(out, "expr:type", "float");
        ok = ok && bind_tensors(&op, out, as, why) &&
             bind_scalars(op.sig, out, json_object_get(as, "scalars"), values_of(task).inputs, why);
    } else if (!why->len) {
        strbuf_adds(why, "it does not know the operation");
    }
    json_decref(made);
    json_decref(seen);
    json_decref(full);
    return ok;
}

/* The task with its PyTorch expression in normal form, where it has one. A new reference. */
static json_t *in_normal_form(const json_t *task)
{
    struct arena mem = ARENA_INIT;
    struct strbuf text = STRBUF_INIT(TORCH_MAX_TEXT);
    struct tree_facts facts = {json_object_get(task, "tensors")};
    struct tree *t = tree_parse(&mem, facts_text(task, "torch"));
    json_t *usual = json_incref((json_t *)task);
    if (t && (t = tree_normal(&mem, t, &facts)) && tree_print(t, &text)) {
        json_decref(usual);
        usual = json_copy((json_t *)task);
        json_object_set_new(usual, "torch", json_string(text.buf));
    }
    strbuf_release(&text);
    arena_release(&mem);
    return usual;
}

/* The task with its only output, which is an input, too, as two tensors of one name; NULL if it is
 * not so. A new reference. */
static json_t *with_update_apart(const json_t *task)
{
    const json_t *tensors = json_object_get(task, "tensors");
    size_t updated = 0, outputs = 0, n = json_array_size(tensors);
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(tensors, i);
        bool out = json_is_true(json_object_get(t, "output"));
        outputs += out;
        updated = out ? i : updated;
    }
    if (outputs != 1 || !json_is_true(json_object_get(json_array_get(tensors, updated), "input")))
        return NULL;
    json_t *copy = json_deep_copy(task), *own = json_object_get(copy, "tensors");
    json_t *before = json_array_get(own, updated), *after = json_deep_copy(before);
    json_object_set_new(before, "output", json_false());
    json_object_set_new(after, "input", json_false());
    json_array_append_new(own, after);
    return copy;
}

bool playbook_bind(const struct playbook *pb, const json_t *task, uint32_t arch,
                   struct pb_binding *out, struct strbuf *why)
{
    *out = (struct pb_binding)PB_BINDING_INIT;
    if (pb->arch > arch) {
        strbuf_addf(why, "it needs sm_%u", pb->arch);
        return false;
    }
    if (pb->unordered && !json_is_true(json_object_get(task, "nondeterministic_ok"))) {
        strbuf_adds(why, "it adds in no fixed order, and the task has no flag nondeterministic_ok");
        return false;
    }
    json_t *usual = in_normal_form(task), *apart = pb->in_place ? with_update_apart(usual) : NULL;
    json_t *plain = without_views(apart ? apart : usual);
    out->in_place = apart;
    bind_text(out, "restrict", restricted(out));
    bool ok = bind_task(pb, plain, out, why);
    json_decref(plain);
    json_decref(apart);
    json_decref(usual);
    if (!ok)
        pb_binding_release(out);
    return ok;
}

void pb_binding_release(struct pb_binding *b)
{
    vec_release(&b->texts);
    arena_release(&b->arena);
    *b = (struct pb_binding)PB_BINDING_INIT;
}

/* ---- the template --------------------------------------------------------------------------- */

static const char *placeholder(const struct playbook *pb, const struct pb_binding *b,
                               const struct pb_point *p, const char *key, size_t len,
                               char number[32])
{
    for (uint32_t i = 0; i < pb->nsettings; i++) {
        const struct pb_setting *s = &pb->settings[i];
        if (strlen(s->name) == len && memcmp(s->name, key, len) == 0) {
            snprintf(number, 32, "%lld", (long long)s->values[p->at[i]]);
            return number;
        }
    }
    return bound_text(b, key, len);
}

/* "part:NAME": what several templates have in common, playbooks/parts/NAME.cu. */
static const char *shared_part(const char *key, size_t len)
{
    char path[96];
    if (len <= 5 || memcmp(key, "part:", 5) != 0)
        return NULL;
    snprintf(path, sizeof path, "playbooks/parts/%.*s.cu", (int)len - 5, key + 5);
    const struct asset *a = asset_find(path);
    return a ? a->data : NULL;
}

/* Texts may hold placeholders themselves, one level deep: an op's expression, say. What stands in a
 * part stands in the template. */
static int expand_text(const struct playbook *pb, const struct pb_binding *b,
                       const struct pb_point *p, const char *text, unsigned depth,
                       struct strbuf *out, struct err *err)
{
    unsigned line = 1;
    for (const char *s = text; *s;) {
        char number[32];
        if (s[0] != '@' || s[1] != '{') {
            line += *s == '\n';
            strbuf_addc(out, *s++);
            continue;
        }
        const char *end = strchr(s, '}');
        size_t len = end ? (size_t)(end - s) - 2 : 0;
        const char *v = end ? placeholder(pb, b, p, s + 2, len, number) : NULL;
        bool part = end && !v;
        if (part)
            v = shared_part(s + 2, len);
        if (!v)
            return err_set(err, ERR_INPUT,
                           "playbook %s, kernel.cu:%u: '@{%.*s}' stands for nothing", pb->name,
                           line, (int)MIN(len, 60), s + 2);
        if (depth == 0 && !part)
            strbuf_adds(out, v);
        else if (expand_text(pb, b, p, v, part ? depth : depth - 1, out, err) < 0)
            return -1;
        s = end + 1;
    }
    return 0;
}

int playbook_expand(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                    struct strbuf *out, struct err *err)
{
    if (expand_text(pb, b, p, pb->template, 1, out, err) < 0)
        return -1;
    return out->truncated ? err_set(err, ERR_LIMIT, "playbook %s: the kernel is too long", pb->name)
                          : 0;
}
