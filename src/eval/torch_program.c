/* torch_program.c - reads PyTorch programs of users (torch_program.h). */
#include "eval/torch_program.h"

#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "job/torch_variants.h"
#include "sys/file.h"
#include "sys/json.h"

enum { MAX_PROGRAMS = 16, MAX_NAME = 100 };

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns whether the word "run" occurs in s. */
static bool names_run(const char *s)
{
    for (const char *p = s; (p = strstr(p, "run")); p += 3)
        if ((p == s || !is_letter(p[-1])) && !is_letter(p[3]))
            return true;
    return false;
}

static int check(const char *path, const struct torch_program *p, size_t len, struct err *err)
{
    json_t *text = json_stringn(p->source, len);
    json_decref(text);
    if (!contender_is_program(p->name) || strlen(p->name) > MAX_NAME)
        return err_set(err, ERR_INPUT, "'%s' is no name for a PyTorch program: give FILE.py", path);
    if (!text || strlen(p->source) != len)
        return err_set(err, ERR_INPUT, "'%s' is not text in UTF-8", path);
    if (!names_run(p->source))
        return err_set(err, ERR_INPUT,
                       "'%s' has no function run(...): Hone calls run() with the task's tensors, "
                       "scalars and axes",
                       path);
    return 0;
}

int torch_program_read(const char *path, struct torch_program *out, struct arena *a,
                       struct err *err)
{
    struct strbuf text = STRBUF_INIT(TORCH_PROGRAM_MAX);
    const char *slash = strrchr(path, '/');
    int rc = file_read(path, TORCH_PROGRAM_MAX, &text, err);
    if (rc < 0 && err->kind == ERR_LIMIT)
        err->kind = ERR_INPUT; /* the file is at fault, not the machine */
    if (rc == 0) {
        size_t mark = str_starts(text.buf, "\xef\xbb\xbf") ? 3 : 0; /* a byte order mark */
        size_t len = text.len - mark;
        *out = (struct torch_program){arena_strdup(a, slash ? slash + 1 : path),
                                      arena_strndup(a, text.buf + mark, len)};
        rc = check(path, out, len, err);
    }
    strbuf_release(&text);
    return rc;
}

json_t *torch_programs_to_json(struct torch_programs p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p.n; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "name", json_text(p.items[i].name),
                                              "source", json_text(p.items[i].source)));
    return list;
}

int torch_programs_from_json(const json_t *j, struct torch_programs *out, struct arena *a,
                             struct err *err)
{
    size_t n = json_array_size(j);
    struct torch_program *items = arena_alloc(a, (MIN(n, MAX_PROGRAMS) + 1) * sizeof *items);
    *out = (struct torch_programs){items, 0};
    for (size_t i = 0; i < n && i < MAX_PROGRAMS; i++) {
        const json_t *x = json_array_get(j, i);
        const char *name = json_string_value(json_object_get(x, "name"));
        const char *source = json_string_value(json_object_get(x, "source"));
        if (!name || !source)
            return err_set(err, ERR_INPUT, "a PyTorch program lacks its name or its source");
        items[out->n] = (struct torch_program){arena_strdup(a, name), arena_strdup(a, source)};
        if (check(name, &items[out->n], strlen(source), err) < 0)
            return -1;
        out->n++;
    }
    return 0;
}
