/* file.c - lessons as a file: export, import, and the checks of an imported lesson. */
#include <string.h>

#include "base/util.h"
#include "memory/lesson.h"
#include "memory/memory.h"
#include "sys/json.h"

#define FILE_VERSION 1

json_t *lesson_to_json(const struct lesson_rec *l)
{
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:f}", "run",
                     json_text(l->run), "task", json_text(l->task), "task_sha", l->task_sha,
                     "class", l->class, "ops", l->ops, "sizes", l->sizes, "marks", l->marks, "gpu",
                     l->gpu, "measured", (int)l->measured, "kind", l->kind, "playbook", l->playbook,
                     "text", l->text, "gain", l->gain);
}

int memory_export(struct store *s, FILE *out, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct lesson_rec_vec all = VEC_INIT;
    int rc = store_lesson_list(s, NULL, MEMORY_MAX, &all, &mem, err);
    json_t *list = json_array();
    for (size_t i = all.n; i-- > 0;) /* the oldest first, so that an import keeps the order */
        json_array_append_new(list, lesson_to_json(&all.items[i]));
    json_t *j = json_pack("{s:i, s:o}", "hone-memory", FILE_VERSION, "lessons", list);
    if (rc == 0)
        json_print(out, j);
    json_decref(j);
    vec_release(&all);
    arena_release(&mem);
    return rc;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Words of lower-case letters, digits, '_', '-' and '.', with single spaces between; may be "". */
static bool is_words(const char *s, size_t max)
{
    if (strlen(s) > max)
        return false;
    for (const char *p = s; *p;) {
        size_t n = strcspn(p, " ");
        if (!lesson_is_name(p, n) || (p[n] && !p[n + 1]))
            return false;
        p += n + (p[n] == ' ');
    }
    return true;
}

/* The name of a task or of a run: 1 to 160 letters, digits, '_', '-', '.', no path. */
static bool is_label(const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t n = strlen(s);
    return n && n <= 160 && strspn(s, plain) == n;
}

static bool is_hex(const char *s, size_t n)
{
    return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

static bool is_sizes(const char *s)
{
    return strlen(s) < 80 && strspn(s, "0123456789.- ") == strlen(s);
}

/* A text that is no point and no move of settings is somebody's words. Only the kind is kept. */
static bool take_text(struct lesson_rec *l)
{
    struct lesson_setting settings[LESSON_SETTINGS];
    bool point = str_eq(l->kind, LESSON_POINT);
    if (strlen(l->text) >= LESSON_TEXT)
        return false;
    if (*l->playbook)
        return point ? lesson_read_point(l->text, settings) : lesson_read_move(l->text, settings);
    return !point;
}

int lesson_from_json(struct lesson_rec *l, const json_t *j, struct arena *a, struct err *err)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"run", &l->run},           {"task", &l->task}, {"task_sha", &l->task_sha},
                 {"class", &l->class},       {"ops", &l->ops},   {"sizes", &l->sizes},
                 {"marks", &l->marks},       {"gpu", &l->gpu},   {"kind", &l->kind},
                 {"playbook", &l->playbook}, {"text", &l->text}};
    const char *bad = NULL;
    *l = (struct lesson_rec){.imported = true};
    if (!json_is_object(j))
        return err_set(err, ERR_INPUT, "it is not an object");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *s = json_string_value(json_object_get(j, texts[i].key));
        if (!s || strlen(s) != json_string_length(json_object_get(j, texts[i].key)))
            return err_set(err, ERR_INPUT, "\"%s\" must be a text", texts[i].key);
        *texts[i].to = s;
    }
    l->measured = json_is_true(json_object_get(j, "measured"));
    if (json_get_double(json_object_get(j, "gain"), &l->gain) < 0 ||
        !(l->gain >= 0 && l->gain <= LESSON_MAX_GAIN))
        bad = "gain";
    bad = bad                                                                 ? bad
          : !is_label(l->run)                                                 ? "run"
          : !is_label(l->task)                                                ? "task"
          : !is_hex(l->task_sha, 64)                                          ? "task_sha"
          : !lesson_is_name(l->class, strlen(l->class))                       ? "class"
          : !is_words(l->ops, 2000)                                           ? "ops"
          : !is_sizes(l->sizes)                                               ? "sizes"
          : !is_words(l->marks, TRAITS_MAX_MARKS * (TRAITS_MARK + 1))         ? "marks"
          : !lesson_is_name(l->gpu, strlen(l->gpu))                           ? "gpu"
          : !lesson_is_kind(l->kind)                                          ? "kind"
          : *l->playbook && !lesson_is_name(l->playbook, strlen(l->playbook)) ? "playbook"
          : !take_text(l)                                                     ? "text"
          : str_eq(l->kind, LESSON_POINT) && l->gain > 1.000001               ? "gain"
                                                                              : NULL;
    if (bad)
        return err_set(err, ERR_INPUT, "\"%s\" does not have the form that docs/memory.md gives",
                       bad);
    if (!*l->playbook) { /* a stranger's words: of these, only the kind and the gain are kept */
        char words[LESSON_TEXT];
        lesson_clean(l->text, words, sizeof words);
        l->text = arena_strdup(a, words);
    }
    return 0;
}

int memory_import(struct store *s, const char *text, size_t len, const char *name, size_t *n,
                  struct err *err)
{
    struct arena mem = ARENA_INIT;
    const struct json_caps caps = {.max_bytes = MEMORY_FILE, .max_depth = 8};
    json_t *j = json_read_text(text, len, name, &caps, err);
    const json_t *list = json_object_get(j, "lessons");
    *n = json_array_size(list);
    int rc = j ? 0 : -1;
    if (rc == 0 && json_integer_value(json_object_get(j, "hone-memory")) != FILE_VERSION)
        rc = err_set(err, ERR_INPUT,
                     "%s: this is no file of `hone memory export` (\"hone-memory\": %d is missing)",
                     name, FILE_VERSION);
    else if (rc == 0 && (!json_is_array(list) || *n > MEMORY_MAX))
        rc = err_set(err, ERR_INPUT, "%s: \"lessons\" must be a list of at most %d lessons", name,
                     MEMORY_MAX);
    if (rc == 0)
        rc = store_begin(s, err);
    bool begun = rc == 0;
    for (size_t i = 0; i < *n && rc == 0; i++) {
        struct lesson_rec l;
        if (lesson_from_json(&l, json_array_get(list, i), &mem, err) < 0)
            rc = err_prefix(err, "%s: lesson %zu", name, i + 1);
        else
            rc = store_lesson_put(s, &l, err);
    }
    if (rc == 0)
        rc = store_lesson_trim(s, MEMORY_MAX, err);
    if (begun)
        rc = store_end(s, rc == 0, err);
    json_decref(j);
    arena_release(&mem);
    return rc;
}
