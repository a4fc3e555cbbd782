/*
 * find.c - finds tasks by path and by name: files, directories, and those embedded in the binary.
 */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "task/task.h"

static struct task *fail(struct problem_vec *problems, const struct err *err)
{
    vec_push(problems)->text = xstrdup(err->msg);
    return NULL;
}

/* Reads naive.cu beside task.json, if there is one. */
static struct task *load_naive(struct task *t, const char *dir, struct problem_vec *problems)
{
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(TASK_MAX_NAIVE);
    char *path = xasprintf("%s/naive.cu", dir);
    if (file_exists(path)) {
        if (file_read(path, TASK_MAX_NAIVE, &text, &err) < 0)
            fail(problems, &err);
        else if (memchr(text.buf, '\0', text.len))
            vec_push(problems)->text =
                xasprintf("%s: holds a NUL byte; expected CUDA source", path);
        else
            t->naive_cu = arena_strdup(&t->arena, text.buf);
        if (!t->naive_cu) {
            task_free(t);
            t = NULL;
        }
    }
    free(path);
    strbuf_release(&text);
    return t;
}

static struct task *load_file(const char *file, const char *dir, struct problem_vec *problems)
{
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(TASK_MAX_TEXT), ref = STRBUF_INIT(TASK_MAX_REFERENCE);
    char *ref_path = xasprintf("%s/reference.c", dir);
    struct task *t = NULL;
    if (file_read(file, TASK_MAX_TEXT, &text, &err) < 0 ||
        (file_exists(ref_path) && file_read(ref_path, TASK_MAX_REFERENCE, &ref, &err) < 0)) {
        fail(problems, &err);
    } else {
        bool has_ref = file_exists(ref_path);
        if (has_ref && memchr(ref.buf, '\0', ref.len)) {
            err_set(&err, ERR_INPUT, "%s: holds a NUL byte; expected C source", ref_path);
            fail(problems, &err);
        } else {
            t = task_parse(text.buf, text.len, file, has_ref ? ref.buf : NULL, problems);
        }
    }
    if (t) {
        t->dir = arena_strdup(&t->arena, dir);
        t = load_naive(t, dir, problems);
    }
    free(ref_path);
    strbuf_release(&text);
    strbuf_release(&ref);
    return t;
}

/* Returns the path of a task's JSON file. *dir gets its directory. The caller frees both. */
static char *task_path(const char *path, char **dir)
{
    if (file_is_dir(path)) {
        *dir = xstrdup(path);
        return xasprintf("%s%stask.json", path, str_ends(path, "/") ? "" : "/");
    }
    const char *slash = strrchr(path, '/');
    *dir = !slash          ? xstrdup(".")
           : slash == path ? xstrdup("/")
                           : xstrndup(path, (size_t)(slash - path));
    return xstrdup(path);
}

struct task *task_load(const char *path, struct problem_vec *problems)
{
    char *dir, *file = task_path(path, &dir);
    struct task *t = load_file(file, dir, problems);
    free(dir);
    free(file);
    return t;
}

static struct task *load_draft(const char *path, struct problem_vec *problems)
{
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(TASK_MAX_TEXT);
    char *dir, *file = task_path(path, &dir);
    struct task *t = file_read(file, TASK_MAX_TEXT, &text, &err) < 0
                         ? fail(problems, &err)
                         : task_parse_draft(text.buf, text.len, file, problems);
    if (t)
        t->dir = arena_strdup(&t->arena, dir);
    free(dir);
    free(file);
    strbuf_release(&text);
    return t;
}

size_t task_builtin_names(struct arena *a, const char ***out)
{
    VEC(const char *) names = VEC_INIT;
    const struct asset *p = asset_first("tasks/");
    for (; p && p->path && str_starts(p->path, "tasks/"); p++) {
        const char *name = p->path + strlen("tasks/"), *slash = strchr(name, '/');
        if (slash && str_eq(slash, "/task.json"))
            *vec_push(&names) = arena_strndup(a, name, (size_t)(slash - name));
    }
    size_t n = names.n;
    *out = arena_alloc(a, n * sizeof **out);
    if (n)
        memcpy(*out, names.items, n * sizeof **out);
    vec_release(&names);
    return n;
}

static const struct asset *builtin_file(const char *name, const char *file)
{
    char path[160];
    if (strchr(name, '/') || strlen(name) >= 100)
        return NULL;
    snprintf(path, sizeof path, "tasks/%s/%s", name, file);
    return asset_find(path);
}

/* Adds the folders of the working directory that hold a task. */
static void add_tasks_here(struct arena *a, struct str_vec *names)
{
    struct name_vec here = VEC_INIT;
    if (dir_list(".", &here, NULL) == 0)
        vec_each (char *, name, &here) {
            char *file = xasprintf("%s/task.json", *name);
            if (strlen(*name) < 100 && file_exists(file))
                *vec_push(names) = arena_strdup(a, *name);
            free(file);
        }
    name_vec_release(&here);
}

static struct task *no_such_task(const char *name, struct problem_vec *problems)
{
    struct arena a = ARENA_INIT;
    struct str_vec names = VEC_INIT;
    const char **builtin;
    size_t n = task_builtin_names(&a, &builtin);
    for (size_t i = 0; i < n; i++)
        *vec_push(&names) = builtin[i];
    add_tasks_here(&a, &names);
    const char *near = strlen(name) < 100 ? suggest_word(name, names.items, names.n) : NULL;
    vec_push(problems)->text =
        near ? xasprintf("no task '%s'; did you mean '%s'?", name, near)
             : xasprintf("no task '%.200s'; `hone task list` shows the built-in ones, or give the "
                         "path of a task.json",
                         name);
    vec_release(&names);
    arena_release(&a);
    return NULL;
}

bool task_exists(const char *name)
{
    return builtin_file(name, "task.json") || file_exists(name);
}

struct task *task_find(const char *name, struct problem_vec *problems)
{
    const struct asset *ref = builtin_file(name, "reference.c");
    const struct asset *json = builtin_file(name, "task.json");
    if (json)
        return task_parse(json->data, json->len, json->path, ref ? ref->data : NULL, problems);
    return file_exists(name) ? task_load(name, problems) : no_such_task(name, problems);
}

struct task *task_find_draft(const char *name, struct problem_vec *problems)
{
    if (builtin_file(name, "task.json"))
        return task_find(name, problems);
    return file_exists(name) ? load_draft(name, problems) : no_such_task(name, problems);
}

const char *task_naive_source(const struct task *t)
{
    char path[160];
    if (t->naive_cu || t->is_copy)
        return t->naive_cu;
    snprintf(path, sizeof path, "kernels/%.140s.cu", t->name);
    const struct asset *a = asset_find(path);
    return a ? a->data : NULL;
}

int task_simple_kernel(const struct task *t, struct strbuf *out, struct err *err)
{
    const char *source = task_naive_source(t);
    if (!source)
        return err_set(err, ERR_INPUT, "the task has no simple kernel%s",
                       *t->dir ? " (naive.cu beside its task.json)" : "");
    strbuf_adds(out, source);
    return 0;
}
