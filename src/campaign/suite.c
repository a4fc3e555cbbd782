/* suite.c - reads suites, and finds the tasks that an operand of `hone bench` means (suite.h). */
#include "campaign/suite.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/json.h"

bool suite_is_python(const char *operand)
{
    const char *at = strstr(operand, ".py:");
    return str_ends(operand, ".py") || (at && !strchr(at, '/'));
}

const char *suite_problem_name(const char *operand, size_t *len)
{
    size_t end = strlen(operand);
    while (end > 1 && operand[end - 1] == '/')
        end--;
    if (end > 3 && strncmp(operand + end - 3, ".py", 3) == 0)
        end -= 3;
    size_t from = end;
    while (from > 0 && operand[from - 1] != '/')
        from--;
    *len = end - from;
    return operand + from;
}

void suite_release(struct suite_item_vec *v)
{
    vec_each (struct suite_item, i, v) {
        vec_release(&i->inputs);
        vec_release(&i->sizes);
    }
    vec_release(v);
}

/* Returns the label of an operand. For a function of a file, that is the function's name: "matmul"
 * for "ops.py:matmul". For another path, it is the last part of the path, without ".py" and "/":
 * "1_Square" for "level1/1_Square.py". */
static const char *label_of(const char *operand, struct arena *a)
{
    const char *colon = suite_is_python(operand) ? strstr(operand, ".py:") : NULL;
    if (colon)
        return arena_strdup(a, colon + 4);
    size_t len;
    const char *name = suite_problem_name(operand, &len);
    return arena_strndup(a, name, len);
}

static struct suite_item *add_item(struct suite_item_vec *out, const char *operand, struct arena *a)
{
    struct suite_item *i = vec_push(out);
    *i = (struct suite_item){.label = label_of(operand, a),
                             .operand = arena_strdup(a, operand),
                             .precision = "",
                             .against = ""};
    return i;
}

/* ---- the text -------------------------------------------------------------------------------- */

struct line {
    const char *name; /* the suite's name */
    const char *folder;
    unsigned number;
    struct arena *a;
    struct err *err;
};

static int bad(const struct line *l, const char *what, const char *word)
{
    return err_set(l->err, ERR_INPUT, "%s:%u: '%.80s' %s", l->name, l->number, word, what);
}

static bool is_name(const char *s, size_t n)
{
    if (!n || n > 64 || !(isalpha((unsigned char)*s) || *s == '_'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '_')
            return false;
    return true;
}

static bool is_size(const char *s)
{
    uint64_t v = 0;
    if (!*s || strlen(s) > 19)
        return false;
    for (; *s; s++) {
        if (!isdigit((unsigned char)*s))
            return false;
        v = v * 10 + (uint64_t)(*s - '0');
    }
    return v >= 1 && v <= UINT64_C(1) << 62;
}

/* True if the text looks like "float32[M,4*K]", a dtype and sizes in brackets. The importer checks
 * it in full. */
static bool is_type(const char *s)
{
    size_t n = strcspn(s, "[");
    const char *end = strchr(s, ']'), *scale = end ? end + 1 : "?";
    if (*scale == '*')
        scale += 1 + strspn(scale + 1, "0123456789.e-"); /* the standard deviation */
    return is_name(s, n) && s[n] == '[' && !strpbrk(s + n + 1, "[") && !*scale && scale[-1] != '*';
}

static bool stays_below(const char *path)
{
    if (*path == '/')
        return false;
    for (const char *p = path; *p; p += strcspn(p, "/"), p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return false;
    }
    return true;
}

static const char *in_folder(const struct line *l, const char *path)
{
    const char *slash = *l->folder && !str_ends(l->folder, "/") ? "/" : "";
    return arena_printf(l->a, "%s%s%s", l->folder, slash, path);
}

static int add_word(const struct line *l, struct suite_item *i, const char *word)
{
    const char *eq = strchr(word, '=');
    if (!eq || !is_name(word, (size_t)(eq - word)))
        return bad(l,
                   "is not NAME=VALUE: give a size (M=4096), an input (x=float32[M,K]), label=, "
                   "precision= or against=",
                   word);
    if (str_starts(word, "label=")) {
        if (!is_name(eq + 1, strlen(eq + 1)))
            return bad(l, "needs a name of letters, digits and '_'", word);
        i->label = arena_strdup(l->a, eq + 1);
        return 0;
    }
    if (str_starts(word, "against=")) {
        if (!stays_below(eq + 1) || !str_ends(eq + 1, ".py"))
            return bad(l, "needs a PyTorch program, FILE.py, in the suite's folder", word);
        i->against = in_folder(l, eq + 1);
        return 0;
    }
    if (!suite_is_python(i->operand))
        return bad(l, "is only for a PyTorch file, FILE.py:NAME", word);
    if (str_starts(word, "precision="))
        i->precision = arena_strdup(l->a, eq + 1);
    else if (is_size(eq + 1))
        *vec_push(&i->sizes) = arena_strdup(l->a, word);
    else if (is_type(eq + 1))
        *vec_push(&i->inputs) = arena_strdup(l->a, word);
    else
        return bad(l, "is neither a size (M=4096) nor an input (x=float32[M,K])", word);
    return 0;
}

static const char *operand_of(const struct line *l, const char *word)
{
    bool path = strchr(word, '/') || suite_is_python(word);
    if (!path)
        return arena_strdup(l->a, word);
    return in_folder(l, word);
}

static int add_line(const struct line *l, char *text, struct suite_item_vec *out)
{
    char *words[SUITE_MAX_WORDS], *save = NULL;
    size_t n = 0;
    for (char *w = strtok_r(text, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
        if (*w == '#')
            break;
        if (n == SUITE_MAX_WORDS)
            return bad(l, "is one word too many", w);
        words[n++] = w;
    }
    if (!n)
        return 0;
    if (strchr(words[0], '=') || str_starts(words[0], SUITE_ASSET))
        return bad(l, "is not a task; the first word names one", words[0]);
    if (!stays_below(words[0]))
        return bad(l, "leads out of the suite's folder", words[0]);
    if (!*label_of(words[0], l->a))
        return bad(l, "needs a name, as in FILE.py:NAME", words[0]);
    if (out->n == SUITE_MAX_ITEMS)
        return bad(l, "is one task too many for a suite", words[0]);
    struct suite_item *i = add_item(out, operand_of(l, words[0]), l->a);
    i->label = label_of(words[0], l->a);
    for (size_t k = 1; k < n; k++)
        if (add_word(l, i, words[k]) < 0)
            return -1;
    return 0;
}

int suite_parse(const char *text, size_t len, const char *name, const char *folder,
                struct suite_item_vec *out, struct arena *a, struct err *err)
{
    struct line l = {name, folder, 0, a, err};
    char line[SUITE_MAX_LINE + 1];
    if (len > SUITE_MAX_TEXT)
        return err_set(err, ERR_INPUT, "%s: a suite has at most %u bytes", name, SUITE_MAX_TEXT);
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        l.number++;
        if (n > SUITE_MAX_LINE)
            return err_set(err, ERR_INPUT, "%s:%u: the line is longer than %d bytes", name,
                           l.number, SUITE_MAX_LINE);
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)text[at + i] < ' ' && !strchr("\t\r", text[at + i]))
                return err_set(err, ERR_INPUT, "%s:%u: a control character; expected text", name,
                               l.number);
        memcpy(line, text + at, n);
        line[n] = '\0';
        if (add_line(&l, line, out) < 0)
            return -1;
        at += n + 1;
    }
    return 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

static const struct asset *built_in_suite(const char *name)
{
    char *path = xasprintf("suites/%s", str_starts(name, "suites/") ? name + 7 : name);
    const struct asset *s = strchr(path + 7, '/') || strchr(path, '.') ? NULL : asset_find(path);
    free(path);
    return s;
}

static bool built_in_task(const char *name)
{
    char *path = xasprintf("tasks/%s/task.json", name);
    bool found = !strchr(name, '/') && asset_find(path);
    free(path);
    return found;
}

/* Appends a line for each built-in suite, such as " cutegen19 the nineteen tasks ...". */
static void list_suites(struct strbuf *out)
{
    for (const struct asset *s = asset_first("suites/"); s && s->path; s++) {
        if (!str_starts(s->path, "suites/"))
            break;
        if (strchr(s->path, '.'))
            continue;
        const char *about = s->data + strspn(s->data, "# ");
        strbuf_addf(out, "  %-12s %.*s\n", s->path + 7, (int)strcspn(about, "\n"), about);
    }
}

static char *child_of(const char *dir, const char *name)
{
    return xasprintf("%s%s%s", dir, str_ends(dir, "/") ? "" : "/", name);
}

static bool is_task_folder(const char *dir)
{
    char *file = child_of(dir, "task.json");
    bool found = file_exists(file);
    free(file);
    return found;
}

/* Compares the numbers at the beginnings: "2_x.py" comes before "10_x.py". */
static int by_number(const void *x, const void *y)
{
    const char *a = *(char *const *)x, *b = *(char *const *)y;
    long m = strtol(a, NULL, 10), n = strtol(b, NULL, 10);
    return m != n ? (m < n ? -1 : 1) : strcmp(a, b);
}

/* Adds `dir` if it is a task's folder. Otherwise adds the PyTorch files and task folders directly
 * in `dir`. */
static int add_folder(const char *dir, struct suite_item_vec *out, struct arena *a, struct err *err)
{
    struct name_vec names = VEC_INIT;
    size_t before = out->n;
    if (is_task_folder(dir)) {
        add_item(out, dir, a);
        return 0;
    }
    int rc = dir_list(dir, &names, err);
    if (rc == 0 && names.n)
        qsort(names.items, names.n, sizeof *names.items, by_number);
    for (size_t i = 0; rc == 0 && i < names.n && out->n < SUITE_MAX_ITEMS; i++) {
        char *path = child_of(dir, names.items[i]);
        bool python = str_ends(names.items[i], ".py") && !str_starts(names.items[i], "__");
        if (names.items[i][0] != '.' && (python || is_task_folder(path)))
            add_item(out, path, a);
        free(path);
    }
    name_vec_release(&names);
    if (rc == 0 && out->n == before)
        rc = err_set(err, ERR_INPUT,
                     "folder '%s' holds no task: expected task.json, PyTorch files or task folders",
                     dir);
    return rc;
}

static int add_file(const char *path, struct suite_item_vec *out, struct arena *a, struct err *err)
{
    struct strbuf text = STRBUF_INIT(SUITE_MAX_TEXT + 1);
    const char *slash = strrchr(path, '/');
    char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup("");
    size_t before = out->n;
    int rc = file_read(path, SUITE_MAX_TEXT, &text, err);
    if (rc == 0)
        rc = suite_parse(text.buf, text.len, path, folder, out, a, err);
    if (rc == 0 && out->n == before)
        rc = err_set(err, ERR_INPUT, "suite '%s' names no task", path);
    strbuf_release(&text);
    free(folder);
    return rc;
}

static int unknown(const char *operand, struct err *err)
{
    struct strbuf list = STRBUF_INIT(16 << 10);
    list_suites(&list);
    err_set(err, ERR_INPUT,
            "'%s' is not a task, suite, folder or file. `hone task list` lists the built-in tasks; "
            "the built-in suites are:\n%s",
            operand, list.buf);
    strbuf_release(&list);
    return -1;
}

int suite_add(const char *operand, struct suite_item_vec *out, struct arena *a, struct err *err)
{
    const struct asset *suite = built_in_suite(operand);
    if (built_in_task(operand)) {
        add_item(out, operand, a);
        return 0;
    }
    if (suite && !(strchr(operand, '/') && file_exists(operand)))
        return suite_parse(suite->data, suite->len, suite->path, SUITE_ASSET "suites/", out, a,
                           err);
    if (file_is_dir(operand))
        return add_folder(operand, out, a, err);
    if (suite_is_python(operand)) {
        char *file = xstrndup(operand, (size_t)(strstr(operand, ".py") + 3 - operand));
        bool found = file_exists(file);
        free(file);
        if (!found)
            return err_set(err, ERR_INPUT, "there is no file '%s'", operand);
        add_item(out, operand, a);
        return 0;
    }
    if (str_ends(operand, "/task.json") && file_exists(operand)) {
        char *dir = xstrndup(operand, strlen(operand) - strlen("/task.json"));
        add_item(out, dir, a);
        free(dir);
        return 0;
    }
    return file_exists(operand) ? add_file(operand, out, a, err) : unknown(operand, err);
}

/* ---- options as JSON ------------------------------------------------------------------------- */

static json_t *texts(const struct str_vec *v)
{
    json_t *j = json_array();
    vec_each (const char *, s, v)
        json_array_append_new(j, json_text(*s));
    return j;
}

json_t *suite_options(const struct suite_item *i)
{
    json_t *j = json_pack("{s:o, s:o, s:o}", "precision", json_text(i->precision), "inputs",
                          texts(&i->inputs), "sizes", texts(&i->sizes));
    if (i->programs.n)
        json_object_set_new(j, "programs", torch_programs_to_json(i->programs));
    return j;
}

int suite_read_program(struct suite_item *i, struct arena *a, struct err *err)
{
    struct torch_program *p = arena_alloc(a, sizeof *p);
    if (!*i->against)
        return 0;
    if (torch_program_read(i->against, p, a, err) < 0)
        return err_prefix(err, "the baseline of '%s'", i->label);
    i->programs = (struct torch_programs){p, 1};
    return 0;
}

static void read_texts(const json_t *j, struct str_vec *out, struct arena *a)
{
    size_t i;
    json_t *s;
    json_array_foreach(j, i, s) if (json_is_string(s) && i < SUITE_MAX_WORDS) * vec_push(out) =
        arena_strdup(a, json_string_value(s));
}

int suite_read_options(const char *text, struct suite_item *out, struct arena *a, struct err *err)
{
    json_t *j = json_read_text(text, strlen(text), "the entry's options", NULL, err);
    if (!j)
        return -1;
    const char *precision = json_string_value(json_object_get(j, "precision"));
    out->precision = arena_strdup(a, precision ? precision : "");
    read_texts(json_object_get(j, "inputs"), &out->inputs, a);
    read_texts(json_object_get(j, "sizes"), &out->sizes, a);
    out->against = "";
    int rc = torch_programs_from_json(json_object_get(j, "programs"), &out->programs, a, err);
    json_decref(j);
    return rc;
}
