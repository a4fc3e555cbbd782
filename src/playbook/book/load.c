/* load.c - reads playbooks into a shelf and checks each playbook.json. expand.c checks the
 * templates. An op is an operation that a playbook can do. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/util.h"
#include "playbook/book/book.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/json.h"

enum { MAX_TEMPLATE = 256 << 10 }; /* bytes */

struct loading {
    struct playbook *pb;
    struct arena *mem;
    const char *file, *text;
    size_t len;
    struct err *err;
};

/* Sets an error at the place of a JSON pointer such as "/ops/sum". */
static int bad(const struct loading *l, const char *pointer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int bad(const struct loading *l, const char *pointer, const char *fmt, ...)
{
    struct json_place at = {1, 1};
    struct strbuf msg = STRBUF_INIT(512);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&msg, fmt, ap);
    va_end(ap);
    json_find_place(l->text, l->len, pointer, false, &at);
    err_set(l->err, ERR_INPUT, "%s:%u:%u: %s", l->file, at.line, at.column, msg.buf);
    strbuf_release(&msg);
    return -1;
}

static const char *text_of(const struct loading *l, const json_t *j)
{
    return arena_strdup(l->mem, json_string_value(j));
}

static bool is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && n < 48 && !s[n] && !(s[0] >= '0' && s[0] <= '9');
}

/* Refuses unknown keys, because a misspelt key would silently mean the default. */
static int only_keys(const struct loading *l, const json_t *j, const char *pointer,
                     const char *const *keys)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)j, key, v)
    {
        size_t i = 0;
        while (keys[i] && !str_eq(keys[i], key))
            i++;
        if (!keys[i]) {
            char at[256];
            snprintf(at, sizeof at, "%s/%s", pointer, key);
            return bad(l, at, "'%s' means nothing here", key);
        }
    }
    return 0;
}

static int load_setting(const struct loading *l, const json_t *j, size_t i)
{
    static const char *const keys[] = {"name",  "values", "start", "guess",
                                       "stage", "kind",   "why",   NULL};
    struct pb_setting *s = &l->pb->settings[i];
    char at[64];
    const json_t *name = json_object_get(j, "name"), *values = json_object_get(j, "values");
    const json_t *start = json_object_get(j, "start"), *stage = json_object_get(j, "stage");
    const json_t *kind = json_object_get(j, "kind"), *why = json_object_get(j, "why");
    const json_t *guess = json_object_get(j, "guess");
    snprintf(at, sizeof at, "/settings/%zu", i);
    if (!json_is_object(j) || !json_is_string(name) || !is_name(json_string_value(name)))
        return bad(l, at,
                   "a setting needs a name: 1 to 47 letters, digits and _, the first not a digit");
    if (only_keys(l, j, at, keys) < 0)
        return -1;
    if (!json_array_size(values) || json_array_size(values) > PB_MAX_VALUES)
        return bad(l, at, "setting '%s' needs 1 to %d values", json_string_value(name),
                   PB_MAX_VALUES);
    if (!json_is_string(stage) || !json_is_string(kind) || !json_is_string(why))
        return bad(l, at, "setting '%s' needs a stage, a kind and a why", json_string_value(name));
    if (guess && !json_is_string(guess))
        return bad(l, at, "the guess of '%s' must be an expression, written as a text",
                   json_string_value(name));
    s->guess = guess ? text_of(l, guess) : NULL;
    s->name = text_of(l, name);
    s->kind = text_of(l, kind);
    s->why = text_of(l, why);
    s->stage = playbook_stage(json_string_value(stage));
    if (s->stage < 0)
        return bad(l, at, "stage must be structure, movement, pipelining or tuning, not '%s'",
                   json_string_value(stage));
    s->start = UINT32_MAX;
    for (size_t k = 0; k < json_array_size(values); k++) {
        const json_t *v = json_array_get(values, k);
        if (!json_is_integer(v) || (k && json_integer_value(v) <= s->values[k - 1]))
            return bad(l, at, "the values of '%s' must be integers in ascending order", s->name);
        s->values[s->n++] = json_integer_value(v);
        if (json_is_integer(start) && json_integer_value(start) == s->values[k])
            s->start = (uint32_t)k;
    }
    if (s->start == UINT32_MAX)
        return bad(l, at, "the start of '%s' must be one of its values", s->name);
    for (size_t k = 0; k < i; k++)
        if (str_eq(l->pb->settings[k].name, s->name))
            return bad(l, at, "there are two settings '%s'", s->name);
    l->pb->nsettings++;
    return 0;
}

static int load_dtypes(const struct loading *l, const json_t *j, const char *at, uint32_t *out)
{
    for (size_t k = 0; k < json_array_size(j); k++) {
        const char *name = json_string_value(json_array_get(j, k));
        enum dtype t = name ? dtype_from_name(name) : DT_NONE;
        if (t == DT_NONE)
            return bad(l, at, "'%s' is not a dtype", name ? name : "(not a text)");
        *out |= 1u << t;
    }
    return *out ? 0 : bad(l, at, "a tensor needs a list of dtypes");
}

static int load_tensor(const struct loading *l, const json_t *j, const char *list, size_t i,
                       struct pb_signature *sig)
{
    static const char *const keys[] = {"role", "io", "shape", "dtype", "repeat", "broadcast", NULL};
    struct pb_tensor *t = &sig->tensors[i];
    char at[160];
    const char *role = json_string_value(json_object_get(j, "role"));
    const char *io = json_string_value(json_object_get(j, "io"));
    const json_t *shape = json_object_get(j, "shape");
    snprintf(at, sizeof at, "%s/%zu", list, i);
    if (!role || !is_name(role) || !io)
        return bad(
            l, at,
            "a tensor needs a role (1 to 47 letters, digits and _, the first not a digit) and "
            "io (in, out or inout)");
    if (only_keys(l, j, at, keys) < 0)
        return -1;
    t->role = arena_strdup(l->mem, role);
    t->in = str_starts(io, "in");
    t->out = str_eq(io, "out") || str_eq(io, "inout");
    t->repeat = json_is_true(json_object_get(j, "repeat"));
    t->broadcast = json_is_true(json_object_get(j, "broadcast"));
    if (!str_eq(io, "in") && !t->out)
        return bad(l, at, "io must be in, out or inout, not '%s'", io);
    if (t->repeat && (i > 0 || t->out))
        return bad(l, at, "only the first tensor may have \"repeat\", and its io must be \"in\"");
    if (t->broadcast && !t->repeat)
        return bad(l, at, "only a tensor with \"repeat\" may broadcast");
    if (!json_is_array(shape) || json_array_size(shape) > PB_MAX_RANK)
        return bad(l, at, "shape must be a list of at most %d texts or integers", PB_MAX_RANK);
    for (size_t d = 0; d < json_array_size(shape); d++) {
        const json_t *v = json_array_get(shape, d);
        if (json_is_integer(v))
            t->shape[t->rank++] =
                arena_printf(l->mem, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        else if (json_is_string(v))
            t->shape[t->rank++] = text_of(l, v);
        else
            return bad(l, at, "shape must be a list of texts or integers");
    }
    const json_t *dtype = json_object_get(j, "dtype");
    for (size_t k = 0; k < i && json_is_string(dtype) && !t->like; k++)
        if (str_eq(sig->tensors[k].role, json_string_value(dtype))) {
            t->like = sig->tensors[k].role;
            t->dtypes = sig->tensors[k].dtypes;
        }
    if (json_is_string(dtype) && !t->like)
        return bad(l, at,
                   "dtype must be a list of dtypes or the role of a tensor before it, not '%s'",
                   json_string_value(dtype));
    sig->n++;
    return t->like ? 0 : load_dtypes(l, dtype, at, &t->dtypes);
}

/* Loads the tensors and scalars of `j`, the playbook or an op. If an op lacks "tensors" or
 * "scalars", it takes them from `from`, the playbook's signature. For the playbook itself, `from`
 * is NULL. */
static int load_signature(const struct loading *l, const json_t *j, const char *pointer,
                          const struct pb_signature *from, const struct pb_signature **out)
{
    const json_t *tensors = json_object_get(j, "tensors"), *scalars = json_object_get(j, "scalars");
    char at[128];
    *out = from;
    if (!tensors && !scalars)
        return 0;
    struct pb_signature *sig = arena_alloc(l->mem, sizeof *sig);
    if (from)
        *sig = *from;
    if (tensors) {
        snprintf(at, sizeof at, "%s/tensors", pointer);
        if (json_array_size(tensors) > PB_MAX_TENSORS || json_array_size(tensors) < 2)
            return bad(l, at, "a playbook or an op must have 2 to %d tensors", PB_MAX_TENSORS);
        memset(sig->tensors, 0, sizeof sig->tensors);
        sig->n = 0;
        for (size_t i = 0; i < json_array_size(tensors); i++)
            if (load_tensor(l, json_array_get(tensors, i), at, i, sig) < 0)
                return -1;
    }
    if (scalars) {
        snprintf(at, sizeof at, "%s/scalars", pointer);
        sig->any_scalars = json_is_string(scalars) && str_eq(json_string_value(scalars), "*");
        if (!sig->any_scalars &&
            (!json_is_array(scalars) || json_array_size(scalars) > PB_MAX_TENSORS))
            return bad(l, at, "scalars must be a list of at most %d names, or \"*\" for any",
                       PB_MAX_TENSORS);
        sig->nscalars = 0;
        for (size_t i = 0; i < json_array_size(scalars); i++) {
            const json_t *v = json_array_get(scalars, i);
            if (!json_is_string(v) || !is_name(json_string_value(v)))
                return bad(l, at, "scalars must be a list of names");
            sig->scalars[sig->nscalars++] = text_of(l, v);
        }
    }
    *out = sig;
    return 0;
}

/* Adds the ops of the file that "share" names to `own`, the playbook's ops. If both have an op,
 * their keys are merged; the playbook's value wins. */
static int add_shared_ops(const struct loading *l, json_t *own)
{
    const json_t *share = json_object_get(l->pb->root, "share");
    const char *part = json_string_value(share), *name;
    char path[96];
    json_t *op;
    if (!share)
        return 0;
    snprintf(path, sizeof path, "playbooks/parts/%.60s.json", part ? part : "");
    const struct asset *a = part ? asset_find(path) : NULL;
    if (!a)
        return bad(l, "/share", "there is no %s", path);
    if (!json_is_object(own))
        return bad(
            l, "/share",
            "a playbook with \"share\" needs an object \"ops\", to which Hone adds shared ops");
    json_t *ops = json_read_text(a->data, a->len, path, NULL, l->err);
    json_object_foreach(ops, name, op)
    {
        json_t *both = json_copy(op);
        json_object_update(both, json_object_get(own, name));
        json_object_set_new(own, name, both);
    }
    json_decref(ops);
    return ops ? 0 : -1;
}

static int check_texts(const struct loading *l, const json_t *op, const char *at, const char *key)
{
    const json_t *list = json_object_get(op, key);
    bool ok = !list || json_is_array(list);
    for (size_t i = 0; ok && i < json_array_size(list); i++)
        ok = json_is_string(json_array_get(list, i));
    return ok ? 0 : bad(l, at, "\"%s\" must be a list of texts", key);
}

/* Adds the op once for each of its names. `names` is a list such as "sum|reduce_sum". */
static void add_op(const struct loading *l, const char *names, struct pb_op op)
{
    for (size_t n; *names; names += n + (names[n] == '|')) {
        n = strcspn(names, "|");
        op.name = arena_strndup(l->mem, names, n);
        *vec_push(&l->pb->ops) = op;
    }
}

static int load_ops(const struct loading *l)
{
    json_t *ops = json_object_get(l->pb->root, "ops");
    const struct pb_signature *sig;
    const char *name;
    json_t *v;
    if (add_shared_ops(l, ops) < 0)
        return -1;
    if (!json_object_size(ops))
        return bad(l, "", "a playbook needs \"ops\", the operations that it can do");
    if (load_signature(l, l->pb->root, "", NULL, &sig) < 0)
        return -1;
    json_object_foreach(ops, name, v)
    {
        char at[128];
        struct pb_op op = {.texts = v};
        snprintf(at, sizeof at, "/ops/%s", name);
        if (!json_is_object(v))
            return bad(l, at, "an op must be an object");
        if (check_texts(l, v, at, "torch") < 0 || check_texts(l, v, at, "args") < 0)
            return -1;
        if (load_signature(l, v, at, sig, &op.sig) < 0)
            return -1;
        bool any = str_eq(facts_text(v, "from"), "graph"); /* takes any tensors */
        if (!any && (!op.sig || !op.sig->n))
            return bad(l, at, "neither op '%s' nor the playbook has tensors", name);
        add_op(l, name, op);
    }
    return 0;
}

static int load_require(const struct loading *l, const json_t *list)
{
    const char *names[PB_MAX_SETTINGS + 1];
    uint32_t n = l->pb->nsettings;
    for (uint32_t i = 0; i < n; i++)
        names[i] = l->pb->settings[i].name;
    names[n] = "elem";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        struct err e = ERR_INIT;
        size_t col;
        char at[64];
        snprintf(at, sizeof at, "/require/%zu", i);
        struct expr *x =
            text ? expr_parse(text, strlen(text), names, n + 1, l->mem, &col, &e) : NULL;
        if (!x)
            return bad(l, at, "%s", text ? e.msg : "a requirement must be a text");
        *vec_push(&l->pb->require) = x;
    }
    return 0;
}

/* The starting point must be allowed for elements of 4 bytes. */
static int check_start(const struct loading *l)
{
    struct pb_binding b = PB_BINDING_INIT;
    b.elem = 4;
    struct pb_point p = playbook_start(l->pb, &b);
    return playbook_allows(l->pb, &b, &p)
               ? 0
               : bad(l, "/require", "the starting values break a requirement");
}

static int load_json(const struct loading *l)
{
    static const char *const keys[] = {"about",   "class", "ops",       "share",    "tensors",
                                       "scalars", "arch",  "unordered", "in_place", "part",
                                       "first",   "last",  "settings",  "require",  "fits",
                                       "texts",   NULL};
    struct playbook *pb = l->pb;
    const json_t *root = pb->root, *about = json_object_get(root, "about");
    const json_t *class = json_object_get(root, "class"), *arch = json_object_get(root, "arch");
    const json_t *settings = json_object_get(root, "settings");
    if (!json_is_object(root))
        return bad(l, "", "a playbook must be an object");
    if (only_keys(l, root, "", keys) < 0)
        return -1;
    if (!json_is_string(about) || !json_is_string(class) || !json_is_integer(arch))
        return bad(l, "",
                   "a playbook needs about (a text), class (a text) and arch (such as 80 or 90)");
    pb->about = text_of(l, about);
    pb->class = text_of(l, class);
    pb->arch = (uint32_t)json_integer_value(arch);
    pb->unordered = json_is_true(json_object_get(root, "unordered"));
    pb->in_place = json_is_true(json_object_get(root, "in_place"));
    pb->part = json_is_true(json_object_get(root, "part"));
    pb->first = json_is_true(json_object_get(root, "first"));
    pb->last = json_is_true(json_object_get(root, "last"));
    pb->fits = json_string_value(json_object_get(root, "fits"));
    pb->texts = json_object_get(root, "texts");
    if (pb->texts && !json_is_object(pb->texts))
        return bad(l, "/texts", "texts must be an object");
    if (json_array_size(settings) > PB_MAX_SETTINGS || !json_array_size(settings))
        return bad(l, "/settings", "a playbook must have 1 to %d settings", PB_MAX_SETTINGS);
    for (size_t i = 0; i < json_array_size(settings); i++)
        if (load_setting(l, json_array_get(settings, i), i) < 0)
            return -1;
    if (load_ops(l) < 0 || load_require(l, json_object_get(root, "require")) < 0)
        return -1;
    return check_start(l);
}

static void book_release(struct playbook *pb)
{
    json_decref(pb->root);
    vec_release(&pb->ops);
    vec_release(&pb->require);
}

static int add_book(struct playbook_shelf *s, const char *name, const char *file, const char *text,
                    size_t len, const char *template, struct err *err)
{
    struct playbook pb = {.name = arena_strdup(&s->arena, name),
                          .template = arena_strdup(&s->arena, template)};
    struct loading l = {&pb, &s->arena, file, text, len, err};
    int rc = 0;
    if (!is_name(name))
        return err_set(err, ERR_INPUT, "%s: '%s' cannot be the name of a playbook's folder", file,
                       name);
    if (!(pb.root = json_read_text(text, len, file, NULL, err)) || load_json(&l) < 0)
        rc = -1;
    if (rc < 0) {
        book_release(&pb);
        return -1;
    }
    vec_each (struct playbook, other, &s->books)
        if (str_eq(other->name, name)) {
            book_release(other);
            *other = pb;
            return 0;
        }
    *vec_push(&s->books) = pb;
    return 0;
}

static int add_built_in(struct playbook_shelf *s, struct err *err)
{
    static const char tail[] = "/playbook.json";
    for (const struct asset *a = asset_first("playbooks/");
         a && a->path && str_starts(a->path, "playbooks/"); a++) {
        char name[64], path[128];
        if (!str_ends(a->path, tail))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(strlen(a->path) - 10 - strlen(tail)),
                 a->path + 10);
        snprintf(path, sizeof path, "playbooks/%s/kernel.cu", name);
        const struct asset *k = asset_find(path);
        if (!k)
            return err_set(err, ERR_INTERNAL, "%s has no kernel.cu beside it", a->path);
        if (add_book(s, name, a->path, a->data, a->len, k->data, err) < 0)
            return -1;
    }
    return 0;
}

static int add_folder(struct playbook_shelf *s, const char *dir, const char *name, struct err *err)
{
    struct strbuf text = STRBUF_INIT(JSON_READ_MAX_BYTES), template = STRBUF_INIT(MAX_TEMPLATE);
    char *file = xasprintf("%s/%s/playbook.json", dir, name);
    char *kernel = xasprintf("%s/%s/kernel.cu", dir, name);
    int rc = 0;
    if (file_exists(file)) {
        rc = file_read(file, JSON_READ_MAX_BYTES, &text, err);
        if (rc == 0)
            rc = file_read(kernel, MAX_TEMPLATE, &template, err);
        if (rc == 0)
            rc = add_book(s, name, file, text.buf, text.len, template.buf, err);
    }
    free(file);
    free(kernel);
    strbuf_release(&text);
    strbuf_release(&template);
    return rc;
}

/* Compares two playbooks for the order that playbook_shelf.books describes. */
static int by_demand(const void *x, const void *y)
{
    const struct playbook *a = x, *b = y;
    if (a->last != b->last)
        return a->last ? 1 : -1;
    if (a->first != b->first)
        return a->first ? -1 : 1;
    return a->arch != b->arch ? (a->arch > b->arch ? -1 : 1) : strcmp(a->name, b->name);
}

int playbooks_open(struct playbook_shelf **out, const char *dir, struct err *err)
{
    struct playbook_shelf *s = xcalloc(1, sizeof *s);
    struct name_vec names = VEC_INIT;
    int rc = add_built_in(s, err);
    if (rc == 0 && dir && *dir)
        rc = dir_list(dir, &names, err);
    for (size_t i = 0; i < names.n && rc == 0; i++)
        rc = add_folder(s, dir, names.items[i], err);
    name_vec_release(&names);
    if (rc < 0) {
        playbooks_close(s);
        return -1;
    }
    if (s->books.n)
        qsort(s->books.items, s->books.n, sizeof *s->books.items, by_demand);
    vec_each (struct playbook, pb, &s->books)
        pb->shelf = s;
    *out = s;
    return 0;
}

void playbooks_close(struct playbook_shelf *s)
{
    if (!s)
        return;
    vec_each (struct playbook, pb, &s->books)
        book_release(pb);
    vec_release(&s->books);
    arena_release(&s->arena);
    free(s);
}
