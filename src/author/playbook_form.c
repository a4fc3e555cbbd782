/* playbook_form.c - is a task's PyTorch expression one of the forms an op is written in? */
#include "author/playbook_form.h"

#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_read.h"
#include "author/playbook_tree.h"
#include "base/util.h"

enum { MAX_ROLES = 2 * PB_MAX_TENSORS, FORM_STEPS = 50000 };

struct matching {
    const struct form_names *v;
    struct arena *mem;
    int *stands_for;
    double *numbers;
    int bound[MAX_ROLES]; /* roles in the order they were bound */
    size_t nbound;
    unsigned left; /* nodes to look at for casts */
};

static int find(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, names[i]))
            return (int)i;
    return -1;
}

/* A number, with its sign. */
static bool is_number(const struct tree *t, double *out)
{
    if (t->kind == TREE_UNARY && str_eq(t->text, "-") && is_number(t->at[0], out)) {
        *out = -*out;
        return true;
    }
    *out = t->kind == TREE_NUMBER ? strtod(t->text, NULL) : 0;
    return t->kind == TREE_NUMBER;
}

static int bind_role(struct matching *m, int role, const struct tree *t)
{
    int name = t->kind == TREE_NAME ? find(m->v->names, m->v->n, t->text) : -1;
    double number = 0;
    if (name < 0) {
        if ((size_t)role < m->v->ntensors || !is_number(t, &number))
            return 0;
        name = FORM_NUMBER;
    }
    if (m->stands_for[role] != FORM_LACKS)
        return m->stands_for[role] == name && (name >= 0 || m->numbers[role] == number);
    m->stands_for[role] = name;
    m->numbers[role] = number;
    m->bound[m->nbound++] = role;
    return 1;
}

/* Is t the dimension that the form has as ROLE.shape[AXIS]? */
static bool is_dim(struct matching *m, const struct tree *p, const struct tree *t)
{
    long axis;
    const struct tree *f = p->at[0];
    if (!tree_is(f, TREE_FIELD, "shape") || f->at[0]->kind != TREE_NAME ||
        !tree_whole(p->at[1], &axis))
        return false;
    int role = find(m->v->roles, m->v->nroles, f->at[0]->text);
    if (role < 0 || m->stands_for[role] < 0)
        return false;
    const char *name = m->v->names[m->stands_for[role]];
    for (size_t i = 0; i < json_array_size(m->v->tensors); i++) {
        const json_t *one = json_array_get(m->v->tensors, i),
                     *shape = json_object_get(one, "shape");
        if (!str_eq(facts_text(one, "name"), name))
            continue;
        long rank = (long)json_array_size(shape);
        axis += axis < 0 ? rank : 0;
        const char *dim = axis >= 0 ? json_string_value(json_array_get(shape, (size_t)axis)) : NULL;
        const struct tree *d = dim ? tree_parse(m->mem, dim) : NULL;
        return d && tree_same(d, t);
    }
    return false;
}

static int bind(void *ctx, const struct tree *p, const struct tree *t)
{
    struct matching *m = ctx;
    long axis;
    if (p->kind == TREE_INDEX)
        return is_dim(m, p, t) ? 1 : -1;
    if (p->kind != TREE_NAME)
        return -1;
    if (str_eq(p->text, "$last"))
        return tree_whole(t, &axis) && (axis == -1 || axis == (long)m->v->rank - 1);
    int role = find(m->v->roles, m->v->nroles, p->text);
    return role < 0 ? -1 : bind_role(m, role, t);
}

static size_t mark(void *ctx)
{
    return ((struct matching *)ctx)->nbound;
}

static void undo(void *ctx, size_t to)
{
    struct matching *m = ctx;
    while (m->nbound > to)
        m->stands_for[m->bound[--m->nbound]] = FORM_LACKS;
}

/* What a cast makes of a value; DT_NONE if it is no cast. */
static enum dtype cast_to(const struct matching *m, const struct tree *t)
{
    if (!str_eq(t->text, "to"))
        return t->n == 1 ? torch_cast_method(t->text, strlen(t->text)) : DT_NONE;
    const struct tree *to = t->n == 2 ? t->at[1] : NULL;
    if (!to || to->kind != TREE_FIELD || to->at[0]->kind != TREE_NAME)
        return DT_NONE;
    if (str_eq(to->at[0]->text, "torch"))
        return torch_dtype(to->text, strlen(to->text));
    int i = find(m->v->names, m->v->n, to->at[0]->text);
    return i >= 0 && str_eq(to->text, "dtype") ? m->v->types[i] : DT_NONE;
}

/* A cast that does not matter here. */
static bool is_idle(const struct matching *m, const struct tree *t)
{
    if (t->kind != TREE_CALL || t->module != TREE_METHOD || !t->n)
        return false;
    enum dtype to = cast_to(m, t);
    const struct tree *of = t->at[0];
    int name = of->kind == TREE_NAME ? find(m->v->names, m->v->n, of->text) : -1;
    bool whole = name >= 0 && !dtype_is_float(m->v->types[name]);
    return to == DT_I32 || to == DT_I64 ? whole : dtype_is_float(to) && dtype_bytes(to) > 1;
}

static struct tree *without_casts(void *ctx, const struct tree *t)
{
    struct matching *m = ctx;
    if (!m->left || !--m->left)
        return NULL;
    return is_idle(m, t) ? without_casts(m, t->at[0]) : tree_rebuilt(m->mem, t, without_casts, m);
}

bool form_matches(const char *form, const char *text, const struct form_names *v, int *stands_for,
                  double *numbers)
{
    struct arena mem = ARENA_INIT;
    struct matching m = {
        .v = v, .mem = &mem, .stands_for = stands_for, .numbers = numbers, .left = FORM_STEPS};
    struct tree_match how = {bind, mark, undo, &m, FORM_STEPS};
    struct tree_facts facts = {v->tensors};
    struct tree *f = tree_parse(&mem, form), *t = tree_parse(&mem, text);
    f = f ? tree_normal(&mem, f, NULL) : NULL;
    t = t ? tree_normal(&mem, t, &facts) : NULL;
    t = t ? without_casts(&m, t) : NULL;
    f = f ? tree_reduced(&mem, f) : NULL;
    t = t ? tree_reduced(&mem, t) : NULL;
    bool ok = f && t && v->nroles <= MAX_ROLES && tree_matches(&how, f, t);
    if (!ok)
        undo(&m, 0);
    arena_release(&mem);
    return ok;
}
