/*
 * parse.c - finds the plan in a candidate's source and reads it.
 *
 * Blanks replace everything before the JSON, so that problems have lines and columns of the
 * candidate's file.
 */
#include <string.h>

#include "base/util.h"
#include "plan/model.h"
#include "source/settings.h"
#include "source/token.h"

/* ---- finding the comment --------------------------------------------------------------------- */

/* Returns the offset of the first comment, or n if there is none. */
static size_t first_comment(const char *s, size_t n)
{
    struct token_reader r = {.src = s, .len = n};
    struct token t = token_next_part(&r);
    while (t.kind != TOK_COMMENT && t.kind != TOK_END)
        t = token_next_part(&r);
    return t.start;
}

static void bad_source(struct problem_vec *out, const char *s, size_t at, const char *what)
{
    unsigned line = 1, col = 1;
    for (size_t i = 0; i < at; i++) {
        col++;
        if (s[i] == '\n') {
            line++;
            col = 1;
        }
    }
    vec_push(out)->text = xasprintf(PLAN_FILE ":%u:%u: %s", line, col, what);
}

static const char *find(const char *s, size_t n, const char *what)
{
    return n ? memmem(s, n, what, strlen(what)) : NULL;
}

/* Finds the plan's JSON, the bytes [*from, *to). Returns false after it reported a problem. */
static bool find_plan(const char *s, size_t n, size_t *from, size_t *to, struct problem_vec *out)
{
    static const char mark[] = "hone-plan";
    size_t at = first_comment(s, n), i = at + 2;
    if (at == n) {
        vec_push(out)->text = xasprintf(
            PLAN_FILE ":1:1: no plan: the file must begin with a comment /* hone-plan {...} */ "
                      "(docs/plan.md)");
        return false;
    }
    while (i < n && strchr("* \t\r\n", s[i]) && s[i])
        i++;
    if (s[at + 1] != '*' || n - i < sizeof mark || memcmp(s + i, mark, sizeof mark - 1) != 0) {
        const char *later = find(s, n, "hone-plan");
        bad_source(out, s, later ? (size_t)(later - s) : at,
                   later
                       ? "the plan must be in the file's first comment, and that comment must have "
                         "the form /* */"
                       : "no plan: the first comment must be /* hone-plan {...} */ (docs/plan.md)");
        return false;
    }
    const char *end = find(s + i, n - i, "*/");
    if (!end) {
        bad_source(out, s, at, "the plan's comment does not end");
        return false;
    }
    *from = i + sizeof mark - 1;
    *to = (size_t)(end - s);
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int find_workspace(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->workspaces.n; i++)
        if (str_eq(p->workspaces.items[i].name, name))
            return (int)i;
    return -1;
}

static int find_map(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->maps.n; i++)
        if (str_eq(p->maps.items[i].name, name))
            return (int)i;
    return -1;
}

static bool lookup(const struct plan *p, const char *name, struct plan_arg *arg)
{
    const struct task *t = p->task;
    int i;
    if ((i = task_tensor_index(t, name)) >= 0)
        arg->kind = PLAN_ARG_TENSOR;
    else if ((i = find_workspace(p, name)) >= 0)
        arg->kind = PLAN_ARG_WORKSPACE;
    else if ((i = find_map(p, name)) >= 0)
        arg->kind = PLAN_ARG_MAP;
    if (i >= 0) {
        arg->index = (size_t)i;
        return true;
    }
    for (size_t k = 0; k < t->axes.n; k++)
        if (str_eq(t->axes.items[k].name, name)) {
            *arg = (struct plan_arg){PLAN_ARG_AXIS, arg->text, k, NULL};
            return true;
        }
    for (size_t k = 0; k < t->scalars.n; k++)
        if (str_eq(t->scalars.items[k].name, name)) {
            *arg = (struct plan_arg){PLAN_ARG_SCALAR, arg->text, k, NULL};
            return true;
        }
    return false;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void collect_names(struct plan *p, const char *source, size_t len)
{
    struct source_setting s[SETTING_MAX];
    size_t n = source_settings(source, len, s), known = p->task->names.n;
    p->names = arena_alloc(&p->arena, (known + n) * sizeof *p->names);
    p->setting_values = arena_alloc(&p->arena, n * sizeof *p->setting_values);
    for (size_t i = 0; i < known; i++)
        p->names[i] = p->task->names.items[i];
    for (size_t i = 0; i < n; i++) {
        p->names[known + i] = arena_strdup(&p->arena, s[i].name);
        p->setting_values[i] = s[i].values[s[i].at];
    }
    p->nnames = known + n;
    p->reals = arena_alloc(&p->arena, p->task->scalars.n * sizeof *p->reals);
    p->real_values = arena_alloc(&p->arena, p->task->scalars.n * sizeof *p->real_values);
    vec_each (const struct task_scalar, sc, &p->task->scalars)
        if (dtype_is_float(sc->dtype)) {
            p->reals[p->nreals] = sc->name;
            p->real_values[p->nreals++] = sc->value;
        }
}

/* Gives settings their values and checks that every alignof names a tensor. */
static bool finish_expr(struct plan *p, const struct json_node *n, struct expr *e)
{
    for (size_t i = p->task->names.n; i < p->nnames; i++)
        expr_fix(e, i, p->setting_values[i - p->task->names.n]);
    size_t col;
    const char *name;
    for (size_t i = 0; (name = expr_alignof_name(e, i, &col)); i++)
        if (task_tensor_index(p->task, name) < 0) {
            problem_at(n->r, n->path, false, col + 1, "alignof: there is no tensor '%s'", name);
            return false;
        }
    return true;
}

bool plan_expr(struct plan *p, const struct json_node *n, struct expr **out)
{
    if (!p->task)
        return true;
    return json_node_expr(n, p->names, p->nnames, out) && finish_expr(p, n, *out);
}

static struct expr *arg_expr(struct plan *p, const char *text, size_t *col, struct err *err)
{
    struct expr_names names = {p->names, p->nnames, p->reals, p->nreals};
    return expr_parse_real(text, strlen(text), &names, &p->arena, col, err);
}

/* Checks an expression that is constant. Its value is known while the plan is read, so a message
 * can still name line and column. plan_resolve() checks other expressions for each shape. */
static void check_const(const struct plan *p, const struct json_node *n, const struct expr *e,
                        const char *what, int64_t lo, int64_t hi)
{
    int64_t v;
    struct err err = ERR_INIT;
    if (!e || expr_alignof_name(e, 0, NULL))
        return;
    for (size_t i = 0; i < p->task->names.n; i++)
        if (expr_uses(e, i))
            return;
    if (expr_eval(e, NULL, &v, &err) < 0)
        json_node_bad(n, "%s", err.msg);
    else if (v < lo || v > hi)
        json_node_bad(n, "%s is %lld; it must be %lld to %lld", what, (long long)v, (long long)lo,
                      (long long)hi);
}

static void parse_dims(struct plan *p, const struct json_node *n, const char *what,
                       struct expr *out[3], const int64_t most[3])
{
    static const char *const axis[] = {"x", "y", "z"};
    char name[32];
    size_t count = json_array_size(n->j);
    if (!json_is_array(n->j)) {
        if (plan_expr(p, n, &out[0]))
            check_const(p, n, out[0], what, 1, most[0]);
        return;
    }
    if (count < 1 || count > 3) {
        json_node_bad(n, "%s has %zu dimensions; it must have 1 to 3", what, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct json_node c = json_node_item(n, i);
        snprintf(name, sizeof name, "%s.%s", what, axis[i]);
        if (plan_expr(p, &c, &out[i]))
            check_const(p, &c, out[i], name, 1, most[i]);
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

static void unknown_arg(const struct plan *p, const struct json_node *n, const char *name,
                        const struct err *err)
{
    struct strbuf sb = STRBUF_INIT(900);
    const struct task *t = p->task;
    for (size_t i = 0; i < t->tensors.n; i++)
        strbuf_addf(&sb, "%s%s", sb.len ? ", " : "", t->tensors.items[i].name);
    for (size_t i = 0; i < t->axes.n; i++)
        strbuf_addf(&sb, ", %s", t->axes.items[i].name);
    for (size_t i = 0; i < t->scalars.n; i++)
        strbuf_addf(&sb, ", %s", t->scalars.items[i].name);
    for (size_t i = 0; i < p->workspaces.n; i++)
        strbuf_addf(&sb, ", %s", p->workspaces.items[i].name);
    for (size_t i = 0; i < p->maps.n; i++)
        strbuf_addf(&sb, ", %s", p->maps.items[i].name);
    if (str_eq(name, "null") || str_eq(name, "NULL") || str_eq(name, "nullptr"))
        json_node_bad(n, "a null pointer is written null, without quotes");
    else if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
        json_node_bad(n, "argument \"%.64s\" is neither a name nor an expression: %s", name,
                      err->msg);
    else
        json_node_bad(n, "no tensor, axis, scalar, workspace or tensor map \"%.64s\"; there are %s",
                      name, sb.buf);
    strbuf_release(&sb);
}

static void parse_arg(struct plan *p, const struct json_node *n, struct plan_launch *l)
{
    struct plan_arg arg = {.text = ""};
    struct err err = ERR_INIT;
    char number[40];
    if (json_is_integer(n->j)) {
        arg.kind = PLAN_ARG_EXPR;
        if (plan_expr(p, n, &arg.expr))
            *vec_push(&l->args) = arg;
        return;
    }
    if (json_is_null(n->j)) {
        arg = (struct plan_arg){.kind = PLAN_ARG_NULL, .text = "null"};
        *vec_push(&l->args) = arg;
        return;
    }
    if (json_is_real(n->j)) {
        snprintf(number, sizeof number, "%.17e", json_real_value(n->j));
        arg = (struct plan_arg){PLAN_ARG_EXPR, arena_strdup(&p->arena, number), 0, NULL};
        if (!p->task || (arg.expr = arg_expr(p, number, NULL, &err)))
            *vec_push(&l->args) = arg;
        else
            json_node_bad(n, "%s", err.msg);
        return;
    }
    if (!json_node_str(n, EXPR_MAX_LEN, &arg.text))
        return;
    if (p->task && !lookup(p, arg.text, &arg)) {
        if (json_object_get(json_object_get(p->doc, "tensormaps"), arg.text) ||
            json_object_get(json_object_get(p->doc, "workspace"), arg.text))
            return; /* its problem was already reported */
        arg.kind = PLAN_ARG_EXPR;
        if (!(arg.expr = arg_expr(p, arg.text, NULL, &err))) {
            unknown_arg(p, n, arg.text, &err);
            return;
        }
        if (!finish_expr(p, n, arg.expr))
            return;
    }
    *vec_push(&l->args) = arg;
}

static void parse_launch_dims(struct plan *p, const struct json_node *n, struct plan_launch *l)
{
    static const int64_t grid_max[3] = {INT32_MAX, 65535, 65535}, block_max[3] = {1024, 1024, 64},
                         cluster_max[3] = {16, 16, 16};
    struct json_node c;
    if (json_node_need(n, "grid", &c))
        parse_dims(p, &c, "grid", l->grid, grid_max);
    if (json_node_need(n, "block", &c))
        parse_dims(p, &c, "block", l->block, block_max);
    if (json_node_get(n, "cluster", &c))
        parse_dims(p, &c, "cluster", l->cluster, cluster_max);
    if (json_node_get(n, "smem", &c) && plan_expr(p, &c, &l->smem) && p->task)
        check_const(p, &c, l->smem, "smem", 0, PLAN_MAX_SMEM);
    if (json_node_get(n, "when", &c))
        plan_expr(p, &c, &l->when);
    if (json_node_get(n, "cooperative", &c))
        json_node_flag(&c, &l->cooperative);
    if (json_node_get(n, "pdl", &c))
        json_node_flag(&c, &l->pdl);
}

static bool parse_part(struct plan *p, const struct json_node *n, const char *key,
                       const char *offset, struct plan_part *out)
{
    struct json_node c;
    struct plan_arg found = {.text = ""};
    struct err err = ERR_INIT;
    if (!json_node_need(n, key, &c) || !json_node_str(&c, 255, &out->name))
        return false;
    if (p->task) {
        found.text = out->name;
        if (!lookup(p, out->name, &found)) {
            err_set(&err, ERR_INPUT, "there is no such name");
            unknown_arg(p, &c, out->name, &err);
            return false;
        }
        if (found.kind != PLAN_ARG_TENSOR && found.kind != PLAN_ARG_WORKSPACE) {
            json_node_bad(&c, "\"%.64s\" is neither a tensor nor a workspace", out->name);
            return false;
        }
    }
    out->of_workspace = found.kind == PLAN_ARG_WORKSPACE;
    out->index = found.index;
    return !json_node_get(n, offset, &c) || plan_expr(p, &c, &out->offset);
}

static bool check_target(struct plan *p, const struct json_node *n, const char *key,
                         const struct plan_part *to)
{
    struct json_node c;
    if (!p->task || to->of_workspace || p->task->tensors.items[to->index].is_output)
        return true;
    if (json_node_get(n, key, &c))
        json_node_bad(&c, "'%s' is an input: a %s must not write it", to->name,
                      str_eq(key, "to") ? "copy" : "memset");
    return false;
}

static void parse_memset(struct plan *p, const struct json_node *n)
{
    static const char *const keys[] = {"memset", "value", "width", "offset", "bytes", "when"};
    struct plan_launch l = {.kind = PLAN_MEMSET, .kernel = "memset", .width = 1};
    struct json_node c;
    int64_t width = 1;
    json_node_only(n, keys, ARRAY_LEN(keys));
    if (!parse_part(p, n, "memset", "offset", &l.to) || !check_target(p, n, "memset", &l.to))
        return;
    if (json_node_get(n, "value", &c) && !plan_expr(p, &c, &l.value))
        return;
    if (json_node_get(n, "width", &c) && json_node_int(&c, 1, 4, &width) && width == 3)
        json_node_bad(&c, "the width of a memset is 1, 2 or 4 bytes");
    if ((json_node_get(n, "bytes", &c) && !plan_expr(p, &c, &l.bytes)) ||
        (json_node_get(n, "when", &c) && !plan_expr(p, &c, &l.when)))
        return;
    l.width = (uint32_t)width;
    *vec_push(&p->launches) = l;
}

static void parse_copy(struct plan *p, const struct json_node *n)
{
    static const char *const keys[] = {"copy", "from_offset", "to", "to_offset", "bytes", "when"};
    struct plan_launch l = {.kind = PLAN_COPY, .kernel = "copy", .width = 1};
    struct json_node c;
    json_node_only(n, keys, ARRAY_LEN(keys));
    if (!parse_part(p, n, "copy", "from_offset", &l.from) ||
        !parse_part(p, n, "to", "to_offset", &l.to) || !check_target(p, n, "to", &l.to) ||
        (json_node_get(n, "bytes", &c) && !plan_expr(p, &c, &l.bytes)) ||
        (json_node_get(n, "when", &c) && !plan_expr(p, &c, &l.when)))
        return;
    *vec_push(&p->launches) = l;
}

static const char word_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

/* Is s a name like scale<float, 4> or a::b<-1>? None of the allowed characters can end the C++
 * expression into which the trailer (sig.h) puts the name. */
static bool is_cpp_name(const char *s)
{
    size_t n = strlen(s);
    int depth = 0;
    if ((*s >= '0' && *s <= '9') || strspn(s, word_chars) == 0 || !strpbrk(s, "<:"))
        return false;
    for (size_t i = 0; i < n; i++) {
        depth += s[i] == '<' ? 1 : s[i] == '>' ? -1 : 0;
        if (depth < 0 || (!strchr(word_chars, s[i]) && !strchr("<>:, -", s[i])) ||
            (!depth && strchr(", -", s[i])))
            return false;
    }
    return depth == 0 && (s[n - 1] == '>' || strchr(word_chars, s[n - 1]));
}

static void parse_launch(struct plan *p, const struct json_node *n)
{
    static const char *const keys[] = {"kernel", "grid", "block",       "cluster", "smem",
                                       "args",   "when", "cooperative", "pdl"};
    struct json_node c;
    struct plan_launch *l;
    const char *kernel;
    if (!json_node_object(n, 16))
        return;
    if (!json_object_get(n->j, "kernel") && json_object_get(n->j, "memset")) {
        parse_memset(p, n);
        return;
    }
    if (!json_object_get(n->j, "kernel") && json_object_get(n->j, "copy")) {
        parse_copy(p, n);
        return;
    }
    json_node_only(n, keys, ARRAY_LEN(keys));
    if (!json_node_need(n, "kernel", &c) || !json_node_str(&c, 255, &kernel))
        return;
    if (!*kernel || (strspn(kernel, word_chars) != strlen(kernel) && !is_cpp_name(kernel))) {
        json_node_bad(&c,
                      "\"%.64s\" is not a kernel's name: it must be extern \"C\", or a template "
                      "instance like scale<float, 4>",
                      kernel);
        return;
    }
    l = vec_push(&p->launches);
    l->kernel = kernel;
    parse_launch_dims(p, n, l);
    if (!json_node_need(n, "args", &c) || !json_node_array(&c, JOB_MAX_ARGS))
        return;
    for (size_t i = 0; i < json_array_size(c.j); i++) {
        struct json_node a = json_node_item(&c, i);
        parse_arg(p, &a, l);
    }
}

static void parse_launches(struct plan *p, const struct json_node *root)
{
    struct json_node n;
    if (!json_node_need(root, "launches", &n) || !json_node_array(&n, JOB_MAX_LAUNCHES))
        return;
    if (json_array_size(n.j) == 0)
        json_node_bad(&n, "a plan needs at least one launch");
    for (size_t i = 0; i < json_array_size(n.j); i++) {
        struct json_node c = json_node_item(&n, i);
        parse_launch(p, &c);
    }
    bool kernel = false;
    vec_each (const struct plan_launch, l, &p->launches)
        kernel |= l->kind == PLAN_KERNEL;
    if (p->launches.n && !kernel && !n.r->n)
        json_node_bad(&n, "a plan needs at least one launch of a kernel");
}

/* ---- workspace ------------------------------------------------------------------------------- */

static void parse_workspace(struct plan *p, const struct json_node *n, const char *name)
{
    static const char *const keys[] = {"bytes", "init"};
    static const char *const inits[] = {"none", "zero"};
    struct plan_workspace w = {.name = arena_strdup(&p->arena, name)};
    struct plan_arg taken = {.text = name};
    struct json_node c;
    size_t init = 0;
    if (!json_node_name_ok(n, name) || !json_node_object(n, 4))
        return;
    if (p->task && lookup(p, name, &taken)) {
        json_node_bad_key(n, "\"%s\" is already a name of the task", name);
        return;
    }
    json_node_only(n, keys, ARRAY_LEN(keys));
    if (json_node_get(n, "init", &c))
        json_node_word(&c, inits, 2, &init);
    w.zero = init == 1;
    if (json_node_need(n, "bytes", &c) && plan_expr(p, &c, &w.bytes))
        *vec_push(&p->workspaces) = w;
}

static void parse_workspaces(struct plan *p, const struct json_node *root)
{
    struct json_node n;
    const char *key;
    json_t *value;
    if (!json_node_get(root, "workspace", &n) || !json_node_object(&n, PLAN_MAX_WORKSPACES))
        return;
    json_object_foreach((json_t *)n.j, key, value)
    {
        struct json_node c = json_node_member(&n, key, value);
        parse_workspace(p, &c, key);
    }
}

/* ---- the whole plan -------------------------------------------------------------------------- */

static bool reaches(const struct plan *p, size_t tensor)
{
    vec_each (struct plan_launch, l, &p->launches) {
        if (l->kind != PLAN_KERNEL && !l->to.of_workspace && l->to.index == tensor)
            return true;
        vec_each (struct plan_arg, a, &l->args) {
            if (a->kind == PLAN_ARG_TENSOR && a->index == tensor)
                return true;
            if (a->kind == PLAN_ARG_MAP && !p->maps.items[a->index].of_workspace &&
                p->maps.items[a->index].index == tensor)
                return true;
        }
    }
    return false;
}

static void check_outputs(const struct plan *p, const struct json_node *root)
{
    struct json_node n;
    if (!json_node_get(root, "launches", &n))
        return;
    for (size_t i = 0; i < p->task->tensors.n; i++)
        if (p->task->tensors.items[i].is_output && !reaches(p, i))
            json_node_bad(&n, "no launch gets the output \"%s\"", p->task->tensors.items[i].name);
}

/* A setting is a constant with a comment that lists its values. A bad list makes every use of the
 * constant a problem. So we report the list first. */
static void tell_broken_setting(const char *source, size_t len, struct problem_vec *problems)
{
    char name[SETTING_MAX_NAME];
    uint32_t line = source_broken_setting(source, len, name);
    if (!line)
        return;
    char *first = problems->items[0].text;
    vec_push(problems)->text = first;
    problems->items[0].text =
        xasprintf(PLAN_FILE ":%u: '%s' is not a setting: after \"// hone:\" there must be 2 to %d "
                            "integers and nothing else, as in \"// hone: 1 2 4 8\"",
                  line, name, SETTING_MAX_VALUES);
}

struct plan *plan_parse(const char *source, size_t len, const struct task *task,
                        struct problem_vec *problems)
{
    static const char *const keys[] = {"launches", "workspace", "tensormaps", "fast_math"};
    struct plan *p = xcalloc(1, sizeof *p);
    struct problem_log r = {.file = PLAN_FILE, .out = problems};
    struct json_node root, c;
    size_t from, to;
    p->task = task;
    if (len > PLAN_MAX_SOURCE) {
        vec_push(problems)->text =
            xasprintf(PLAN_FILE ": %zu bytes, more than the limit of %u", len, PLAN_MAX_SOURCE);
        goto bad;
    }
    if (!find_plan(source, len, &from, &to, problems))
        goto bad;
    p->len = to;
    p->text = xstrndup("", 0);
    p->text = xrealloc(p->text, to + 1);
    for (size_t i = 0; i < to; i++)
        p->text[i] = i >= from || source[i] == '\n' ? source[i] : ' ';
    p->text[to] = '\0';
    r.text = p->text;
    r.len = p->len;
    if (!json_node_root(&root, &r, &p->arena))
        goto bad;
    p->doc = root.j;
    if (task)
        collect_names(p, source, len);
    json_node_only(&root, keys, ARRAY_LEN(keys));
    if (json_node_get(&root, "fast_math", &c))
        json_node_flag(&c, &p->fast_math);
    parse_workspaces(p, &root);
    plan_parse_maps(p, &root);
    parse_launches(p, &root);
    if (task && r.n == 0)
        check_outputs(p, &root);
    if (task && r.n)
        tell_broken_setting(source, len, problems);
    p->doc = NULL;
    json_node_root_release(&root);
    if (r.n == 0)
        return p;
bad:
    plan_free(p);
    return NULL;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    vec_each (struct plan_launch, l, &p->launches)
        vec_release(&l->args);
    vec_release(&p->launches);
    vec_release(&p->workspaces);
    vec_release(&p->maps);
    arena_release(&p->arena);
    free(p->text);
    free(p);
}

size_t plan_launch_count(const struct plan *p)
{
    return p->launches.n;
}

const char *const *plan_compile_options(const struct plan *p)
{
    static const char *const fast[] = {"--use_fast_math", NULL};
    return p->fast_math ? fast : NULL;
}

const char *plan_launch_kernel(const struct plan *p, size_t i)
{
    return p->launches.items[i].kind == PLAN_KERNEL ? p->launches.items[i].kernel : NULL;
}
